//! Tasks: list items with a check box.
