//! Synonyms for what operations do, beside the words of their descriptions: `find_capability` looks for them too.

/// Operations by name, each with such words.
const WORDS: &[(&str, &str)] = &[
    ("add_tag", "label mark all notes in a folder"),
    ("append_to_periodic_note", "journal diary log today tomorrow yesterday"),
    ("atlas_find_duplicates", "same similar twice"),
    ("bulk_create_notes", "several many import"),
    ("bulk_move_notes", "move folder rename folder several many archive"),
    ("bulk_set_property", "all notes in a folder several many status everywhere"),
    ("bundle_folder", "export concatenate whole folder one file"),
    ("copy_note", "duplicate clone"),
    ("delete_note", "remove erase throw away"),
    ("edit_note", "rename heading several changes at once insert replace section"),
    ("execute_template", "new note from template fill in"),
    ("find_orphans", "nobody links unlinked isolated without links unused lonely"),
    ("find_unresolved_links", "broken dead missing wrong links"),
    ("get_attachment", "show view open picture image photo pdf drawing audio"),
    ("get_outgoing_links", "links out of a note links from forward mentions references"),
    ("get_periodic_note", "journal diary what did today yesterday week"),
    ("graph_communities", "topics clusters"),
    ("list_attachments", "pictures images photos unused files"),
    ("list_notes", "recent recently changed modified edited new newest latest last week today yesterday folders files"),
    ("list_properties", "metadata fields which properties"),
    ("list_tags", "count tags labels which tags topics"),
    ("list_tasks", "todo overdue due open"),
    ("list_vaults", "statistics how many notes size"),
    ("move_attachment", "rename picture rename file"),
    ("move_note", "rename title archive"),
    ("note_history", "versions revisions changes who changed who wrote when"),
    ("query_base", "database view rows of a base"),
    ("query_notes", "table of notes where property filter sort group dataview base"),
    ("read_notes", "many several multiple notes at once"),
    ("restore_note", "revert undelete recover deleted trash previous old version go back"),
    ("rewrite_link", "rename heading change links everywhere redirect"),
    ("search", "replace text in all notes occurrences mentions"),
    ("suggest_links", "similar related notes mentions without link"),
    ("tasks_filter", "todo overdue query"),
    ("undo_changes", "revert rollback take back my changes mistake"),
    ("update_table", "row column cell"),
    ("update_task", "tick check off complete finish done todo"),
    ("upload_attachment", "attach add send save picture image photo pdf file"),
    ("vault_health_score", "statistics stats quality overview"),
    ("write_note", "new note create note overwrite"),
];

/// Other words for what the operation of this name does; empty if its description has all.
pub(super) fn other_words(name: &str) -> &'static str {
    let found = WORDS.binary_search_by(|(known, _)| (*known).cmp(name));
    found.ok().and_then(|at| WORDS.get(at)).map_or("", |(_, words)| words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    #[test]
    fn each_is_an_operation_and_is_found_by_its_name() {
        assert!(WORDS.windows(2).all(|pair| pair[0].0 < pair[1].0), "sort them by their names");
        for (name, words) in WORDS {
            assert!(catalogue::ALL.iter().any(|info| info.name == *name), "{name}");
            assert_eq!(other_words(name), *words);
        }
        assert_eq!(other_words("no_such_operation"), "");
    }
}
