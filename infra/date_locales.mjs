// Writes the locales of date formats, as tables, and dates that Moment.js itself writes in them, for a test.
//
//     npm install --no-save --prefix /tmp/moment moment@2.29.4
//     node infra/date_locales.mjs /tmp/moment/node_modules/moment
//
// 2.29.4 is the version in Obsidian. Only facts are taken: names, orders, numbers.

import { writeFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const FOLDER = resolve(import.meta.dirname, "../shared/vault/src/date_format");
const home = resolve(process.argv[2] ?? "node_modules/moment");
const moment = createRequire(home + "/")("./moment.js");

// Obsidian's languages, as far as Moment.js has them, and their variants.
const LANGUAGES = new Set(
  "af ar az be bg bn bs ca cs cy da de dv el en eo es et eu fa fi fr ga gl he hi hr hu hy id is it ja ka kk km kn ko ku ky lt lv mk ml mn mr ms my nb ne nl nn oc pa pl pt ro ru si sk sl sq sr sv sw ta te tg th tl tr ug uk ur uz vi zh".split(" "),
);
const files = readdirSync(home + "/locale").map((name) => name.replace(".js", ""));
const ids = ["en", ...files.filter((id) => LANGUAGES.has(id.split("-")[0]))];

// A month after a day: Moment.js's own rule where a locale has none.
const AFTER_DAY = String.raw`D[oD]?(\[[^\[\]]*\]|\s)+MMMM?`;
// The rules of locales that choose between names by a function: a format that each name is for.
const CHOICES = {
  months: { el: ["D.*MMMM", "D MMMM"], pl: ["D MMMM", "D MMMM"] },
  monthsShort: Object.fromEntries(["es", "es-do", "es-mx", "es-us", "nl", "nl-be", "fy"].map((id) => [id, ["-MMM-", "-MMM-"]])),
  weekdays: { uk: [String.raw`(\[[ВвУу]\]) ?dddd`, "[В] dddd", String.raw`\[?(?:минулої|наступної)? ?\] ?dddd`, "[минулої] dddd"] },
};
const MONTHS = [...Array(12).keys()].map((month) => moment.utc([2026, month, 1]));
const DAYS = [...Array(7).keys()].map((day) => moment.utc([2026, 1, 1 + day]));

/** The usual names, and pairs of a pattern of the format and the names for it. */
function names(data, id, kind, days, usual) {
  const of = (format) => days.map((day) => data[kind](day, format));
  const held = data["_" + kind];
  const rules = [];
  if (typeof held === "object" && !Array.isArray(held)) {
    const pattern = kind === "monthsShort" ? AFTER_DAY : (held.isFormat?.source ?? AFTER_DAY);
    rules.push([pattern, held.format]);
  } else if (Object.hasOwn(data, kind)) {
    const choices = CHOICES[kind][id];
    if (!choices) throw new Error(`${id} has its own rule for ${kind}: add it`);
    for (let at = 0; at < choices.length; at += 2) rules.push([choices[at], of(choices[at + 1])]);
  }
  return [of(usual), rules];
}

/** For groups of tokens: forms of ordinal numbers, with `{}` for the number, and which form a number has. */
function ordinals(data) {
  const groups = new Map();
  for (const token of ["M", "Q", "D", "DDD", "d", "w", "W", "y"]) {
    const forms = [];
    const all = [...Array(367).keys()].map((number) => {
      const form = String(data.ordinal(number, token)).replace(String(number), "{}");
      if (!forms.includes(form)) forms.push(form);
      return String.fromCharCode(97 + forms.indexOf(form));
    });
    const length = [1, 10, 100].find((length) => all.every((form, at) => form === all[at % length])) ?? 367;
    const key = JSON.stringify([forms, all.slice(0, length).join("")]);
    groups.set(key, [...(groups.get(key) ?? []), token]);
  }
  return [...groups].map(([key, tokens]) => [tokens, ...JSON.parse(key)]);
}

/** The minutes of the day at which the words for its parts change, with the words: upper case, lower case. */
function meridiems(data) {
  const changes = [];
  for (let minute = 0; minute < 24 * 60; minute++) {
    const words = [false, true].map((lower) => data.meridiem(Math.floor(minute / 60), minute % 60, lower));
    if (words.join("\n") !== changes.at(-1)?.slice(1).join("\n")) changes.push([minute, ...words]);
  }
  return changes;
}

/** What the characters of a date become in the end: pairs. */
function replaced(data) {
  return [..."0123456789,"].map((one) => [one, data.postformat(one)]).filter(([one, other]) => one !== other);
}

function table(id) {
  moment.locale(id);
  const data = moment.localeData(id);
  return {
    id,
    week: [data.firstDayOfWeek(), data.firstDayOfYear()],
    months: names(data, id, "months", MONTHS, "MMMM"),
    months_short: names(data, id, "monthsShort", MONTHS, "MMM"),
    days: names(data, id, "weekdays", DAYS, "dddd"),
    days_short: names(data, id, "weekdaysShort", DAYS, "ddd"),
    days_min: names(data, id, "weekdaysMin", DAYS, "dd"),
    formats: ["LTS", "LT", "LLLL", "LLL", "LL", "L", "llll", "lll", "ll", "l"].map((key) => data.longDateFormat(key)),
    ordinals: ordinals(data),
    meridiems: meridiems(data),
    replaced: replaced(data),
    eras: data
      .eras()
      .map((era) => [new Date(era.since).toISOString().slice(0, 10), era.offset, era.abbr, era.name, era.narrow])
      .filter(([since]) => since >= "0001"),
  };
}

const lines = ids.map((id) => JSON.stringify(table(id)));
writeFileSync(FOLDER + "/locales.jsonl", lines.join("\n") + "\n");

const FORMATS = [
  "D MMMM YYYY dddd",
  "MMMM [of] YYYY, MMM D dd",
  "ddd DD-MMM-YY; D MMM",
  "LLLL | LTS | L",
  "l ll lll llll",
  "Do Mo Qo DDDo do wo Wo yo",
  "gggg-[W]ww gg e d E GGGG-WW GG",
  "h:mm A h a",
  "yyyy y N NNNN NNNNN YYYYYY YYYYY Y",
];
const TIMES = [...Array(12).keys()].map((at) => moment.utc([2019 + at, at, 1 + ((at * 7) % 28), (at * 5) % 24, (at * 11) % 60, at]).format("YYYY-MM-DDTHH:mm:ss"));
process.env.TZ = "UTC";
const golden = [JSON.stringify([FORMATS, TIMES])];
for (const id of ids) {
  // The first format has each month; the others take turns.
  const written = TIMES.map((time, at) =>
    FORMATS.map((format, which) => (which === 0 || (at + which) % 4 === 0 ? moment(time).locale(id).format(format) : null)),
  );
  golden.push(JSON.stringify([id, written]).replaceAll("null", "0"));
}
// The week begins on another day where a plugin says so; the rest of a locale stays.
for (const id of ["en", "de", "ar"]) {
  moment.updateLocale(id, { week: { dow: 3 } });
  const written = TIMES.map((time) => moment(time).locale(id).format("gggg-[W]ww wo e"));
  golden.push(JSON.stringify([id, "wednesday", written]));
}
writeFileSync(FOLDER + "/golden.jsonl", golden.join("\n") + "\n");
