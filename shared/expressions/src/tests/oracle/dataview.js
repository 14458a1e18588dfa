// Reads expressions and queries, one JSON text a line, and writes what Dataview's library makes of each: a JSON array a line.
// Arguments: the library's file, and the time in milliseconds.
const fs = require("fs");
const Module = require("module");
const [, , file, now] = process.argv;

// The library asks for the app, and keeps its values to itself.
const load = Module._load;
Module._load = (name, ...rest) => (name === "obsidian" ? {} : load(name, ...rest));
const library = new Module(file);
const inner = ["Values", "DateTime", "Duration", "Settings", "normalizeDuration"];
library._compile(fs.readFileSync(file, "utf8") + inner.map(name => `\nexports.${name} = ${name};`).join(""), file);
const { Values, DateTime, Duration, Settings, normalizeDuration, EXPRESSION, QUERY_LANGUAGE } = library.exports;
Settings.defaultZone = "utc";
Settings.defaultLocale = "en-US";
Settings.now = () => Number(now);

const UNITS = ["years", "months", "weeks", "days", "hours", "minutes", "seconds", "milliseconds"];

function value(v) {
    switch (Values.typeOf(v)) {
        case "null": return "null";
        case "boolean": return String(v);
        case "number": return `n${Object.is(v, -0) ? 0 : v}`;
        case "string": return JSON.stringify(v);
        case "date": return v.isValid ? `date ${v.toMillis()} ${v.offset}` : "invalid date";
        case "duration": return "dur " + UNITS.map(unit => Number((v.get(unit) || 0).toFixed(5))).join(" ");
        case "link": return "link " + JSON.stringify([v.path, v.type, v.subpath ?? "", v.display ?? "", !!v.embed]);
        case "array": return `[${v.map(value).join(", ")}]`;
        case "object": return `{${Object.entries(v).map(([k, e]) => `${JSON.stringify(k)}: ${value(e)}`).sort().join(", ")}}`;
        default: return "other";
    }
}

function tree(f) {
    switch (f.type) {
        case "literal": return value(f.value);
        case "variable": return f.name;
        case "list": return `(list ${f.values.map(tree).join(" ")})`;
        case "object": return `(object ${Object.entries(f.values).map(([k, e]) => `${JSON.stringify(k)} ${tree(e)}`).sort().join(" ")})`;
        case "binaryop": return `(${f.op} ${tree(f.left)} ${tree(f.right)})`;
        case "negated": return `(! ${tree(f.child)})`;
        case "index": return `(index ${tree(f.object)} ${tree(f.index)})`;
        case "function": return `(call ${tree(f.func)} ${f.arguments.map(tree).join(" ")})`;
        case "lambda": return `(lambda ${f.arguments.join(" ")} : ${tree(f.value)})`;
    }
}

// What the library can say of values: their order, their truth, what they look like, dates. The functions are not in it; those here are
// no more than what JavaScript and Luxon have under other names.
const SKIP = new Error("not in the library");
const text = v => (typeof v === "string" ? v : fail());
const num = v => (typeof v === "number" ? v : fail());
const fail = () => { throw SKIP; };
const FUNCTIONS = {
    typeof: v => Values.typeOf(v),
    string: v => Values.toString(v),
    dateformat: (d, f) => (Values.isDate(d) ? d.toFormat(text(f)) : fail()),
    durationformat: (d, f) => (Values.isDuration(d) ? d.toFormat(text(f)) : fail()),
    lower: s => text(s).toLowerCase(),
    upper: s => text(s).toUpperCase(),
    startswith: (s, p) => text(s).startsWith(text(p)),
    endswith: (s, p) => text(s).endsWith(text(p)),
    substring: (s, a, b) => text(s).substring(num(a), b === undefined ? b : num(b)),
    padleft: (s, n, p) => text(s).padStart(num(n), p === undefined ? " " : text(p)),
    padright: (s, n, p) => text(s).padEnd(num(n), p === undefined ? " " : text(p)),
    replace: (s, p, r) => text(s).split(text(p)).join(text(r)),
    split: (s, p, n) => text(s).split(new RegExp(text(p)), n === undefined ? n : num(n)).map(part => part || ""),
    regexreplace: (s, p, r) => text(s).replace(new RegExp(text(p), "g"), text(r)),
    regextest: (p, s) => new RegExp(text(p)).test(text(s)),
    round: (n, p) => (p === undefined || num(p) <= 0 ? Math.round(num(n)) : Number(num(n).toFixed(p))),
    trunc: n => Math.trunc(num(n)),
    floor: n => Math.floor(num(n)),
    ceil: n => Math.ceil(num(n)),
    currencyformat: (n, c) => Intl.NumberFormat("en-US", { style: "currency", currency: text(c) }).format(num(n)),
    length: v => (typeof v === "string" || Array.isArray(v) ? v.length : fail()),
    sort: v => (Array.isArray(v) ? [...v].sort(Values.compareValue) : fail()),
    list: (...all) => all,
};
const COMPARE = { "<": c => c < 0, "<=": c => c <= 0, ">": c => c > 0, ">=": c => c >= 0, "=": c => c === 0, "!=": c => c !== 0 };
const NUMBERS = { "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "/": (a, b) => a / b, "%": (a, b) => a % b };

function binary(op, a, b) {
    if (COMPARE[op]) return COMPARE[op](Values.compareValue(a, b));
    if (op === "&") return Values.isTruthy(a) && Values.isTruthy(b);
    if (op === "|") return Values.isTruthy(a) || Values.isTruthy(b);
    const [x, y] = [Values.typeOf(a), Values.typeOf(b)];
    if (x === "number" && y === "number") return NUMBERS[op](a, b);
    if (op === "+" && (x === "string" || y === "string")) {
        return (x === "string" ? a : Values.toString(a)) + (y === "string" ? b : Values.toString(b));
    }
    if (x === "date" && y === "duration" && op === "+") return a.plus(b);
    if (x === "date" && y === "duration" && op === "-") return a.minus(b);
    if (x === "date" && y === "date" && op === "-") {
        return normalizeDuration(a.diff(b, UNITS.filter(unit => unit !== "weeks")));
    }
    if (x === "duration" && y === "duration" && op === "+") return normalizeDuration(a.plus(b));
    if (x === "duration" && y === "duration" && op === "-") return normalizeDuration(a.minus(b));
    if (x === "duration" && y === "number" && op === "*") return normalizeDuration(a.mapUnits(n => n * b));
    if (x === "duration" && y === "number" && op === "/") return normalizeDuration(a.mapUnits(n => n / b));
    throw SKIP;
}

function evaluate(f) {
    switch (f.type) {
        case "literal": return f.value;
        case "variable": return null;
        case "list": return f.values.map(evaluate);
        case "object": return Object.fromEntries(Object.entries(f.values).map(([k, e]) => [k, evaluate(e)]));
        case "negated": return !Values.isTruthy(evaluate(f.child));
        case "binaryop": return binary(f.op, evaluate(f.left), evaluate(f.right));
        case "function": {
            const call = f.func.type === "variable" && Object.hasOwn(FUNCTIONS, f.func.name) && FUNCTIONS[f.func.name];
            const count = f.arguments.length;
            if (!call || count < 1 || (count > call.length && call !== FUNCTIONS.list)) throw SKIP;
            return call(...f.arguments.map(evaluate));
        }
        default: throw SKIP;
    }
}

function shape(query) {
    const named = column => `${JSON.stringify(column.name)} ${tree(column.field)}`;
    const header = query.header;
    const parts = [header.type, header.showId ?? "", header.format ? tree(header.format) : "", ...(header.fields ?? []).map(named)];
    if (header.field) parts.push(named(header.field));
    for (const step of query.operations) {
        if (step.clause) parts.push("where", tree(step.clause));
        else if (step.amount) parts.push("limit", tree(step.amount));
        else if (step.fields) parts.push("sort", ...step.fields.map(by => `${by.direction} ${tree(by.field)}`));
        else if (step.field) parts.push(step.type, named(step.field));
        else parts.push("source");
    }
    return parts.join("\n");
}

for (const line of fs.readFileSync(0, "utf8").split("\n").filter(line => line)) {
    const [kind, input] = JSON.parse(line);
    if (kind === "query") {
        const parsed = QUERY_LANGUAGE.query.parse(input);
        console.log(JSON.stringify(parsed.status ? [shape(parsed.value)] : []));
        continue;
    }
    if (kind === "inline") {
        const parsed = EXPRESSION.inlineField.parse(input);
        console.log(JSON.stringify([value(parsed.status ? parsed.value : input)]));
        continue;
    }
    const parsed = EXPRESSION.field.parse(input);
    const answer = [];
    if (parsed.status) {
        answer.push(tree(parsed.value));
        try {
            answer.push(value(evaluate(parsed.value)));
        } catch (error) {
            // What the library has not, or what JavaScript refuses.
        }
    }
    console.log(JSON.stringify(answer));
}
