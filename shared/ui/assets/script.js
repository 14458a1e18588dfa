// What pages do by themselves: times become ages, live parts are asked for again, and search answers while one types.
"use strict";
(() => {
  const ages = (root) => {
    const now = Date.now();
    for (const time of root.querySelectorAll("time[datetime]")) {
      const at = Date.parse(time.dateTime);
      if (Number.isNaN(at)) continue;
      const seconds = Math.round((now - at) / 1000);
      const [number, unit] =
        seconds < 60 ? [0, ""] : seconds < 3600 ? [seconds / 60, "minute"] : seconds < 86400 ? [seconds / 3600, "hour"] : [seconds / 86400, "day"];
      const whole = Math.floor(number);
      time.textContent = !unit ? "just now" : whole > 30 ? new Date(at).toLocaleDateString() : `${whole} ${unit}${whole === 1 ? "" : "s"} ago`;
      time.title = new Date(at).toLocaleString();
    }
  };

  // Whether somebody is about to write, choose or press something there: what is under the pointer stays what it is.
  const isUsed = (part) => {
    if (matchMedia("(hover: hover)").matches && part.querySelector("button:hover")) return true;
    const active = document.activeElement;
    if (active !== document.body && part.contains(active)) return true;
    return [...part.querySelectorAll("input:not([type=hidden]), textarea")].some((field) => field.value !== "");
  };

  const live = (part) => {
    const every = Number(part.dataset.every) * 1000;
    let tag = "";
    const look = async () => {
      if (document.hidden) return;
      const answer = await fetch(part.dataset.live, { headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store" });
      if (answer.status === 401) return location.reload();
      if (answer.status !== 200) return;
      const text = await answer.text();
      if (isUsed(part)) return;
      tag = answer.headers.get("ETag") || "";
      const open = new Map([...part.querySelectorAll("details[id]")].map((one) => [one.id, one.open]));
      part.innerHTML = text;
      for (const one of part.querySelectorAll("details[id]")) if (open.has(one.id)) one.open = open.get(one.id);
      ages(part);
    };
    setInterval(() => look().catch(() => {}), every);
    document.addEventListener("visibilitychange", () => look().catch(() => {}));
  };

  // Answers while one types; the newest question counts.
  const search = (form) => {
    const part = document.getElementById(form.dataset.search);
    const field = form.querySelector("input[type=search]");
    let asked = 0;
    let timer = 0;
    const ask = async () => {
      const number = ++asked;
      const words = new URLSearchParams(new FormData(form));
      const answer = await fetch(`${form.dataset.results}?${words}`, { cache: "no-store" });
      if (answer.status === 401) return location.reload();
      const text = await answer.text();
      if (number !== asked) return;
      part.innerHTML = text;
      ages(part);
      history.replaceState(null, "", `${form.action}?${words}`);
    };
    form.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => ask().catch(() => {}), 80);
    });
    // Arrows go through the results.
    document.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
      const results = [...part.querySelectorAll("a.result")];
      const at = results.indexOf(document.activeElement);
      if (at < 0 && document.activeElement !== field) return;
      const next = event.key === "ArrowDown" ? at + 1 : at - 1;
      (next < 0 ? field : results[Math.min(next, results.length - 1)])?.focus();
      event.preventDefault();
    });
  };

  const copy = (button) =>
    button.addEventListener("click", async () => {
      const text = document.getElementById(button.dataset.copy)?.textContent ?? "";
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });

  ages(document);
  document.querySelectorAll("[data-live]").forEach(live);
  document.querySelectorAll("form[data-search]").forEach(search);
  document.querySelectorAll("button[data-copy]").forEach((button) => {
    button.hidden = false;
    copy(button);
  });
  // `/` goes to the search, as in many programs.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "")) return;
    const field = document.querySelector("input[type=search]");
    if (field) field.focus();
    else location.assign("/ui/search");
    event.preventDefault();
  });
})();
