/** Values as a console shows them: tensors, graphs and the like as Weft shows them in Deno and Node, all else like JSON. */

const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/** Items of a list and characters of a text that are shown. */
const MOST_ITEMS = 50, MOST_TEXT = 4000;

/** The arguments of a call of `console.log` as a line. */
export function shownLine(values: readonly unknown[]): string {
  const line = values.map((v) => (typeof v === "string" ? v : shown(v, []))).join(" ");
  return line.length > MOST_TEXT ? `${line.slice(0, MOST_TEXT)}…` : line;
}

/** An error's name and message. */
export function errorText(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : shown(error, []);
}

function shown(value: unknown, around: readonly unknown[]): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return `[Function ${value.name || "(anonymous)"}]`;
  if (typeof value !== "object" || value === null) return String(value);
  if (around.includes(value)) return "[Circular]";
  if (INSPECT in value) return String((value[INSPECT] as () => unknown)());
  if (value instanceof Error) return errorText(value);
  const within = [...around, value];
  if (value instanceof Float32Array) {
    // As many digits as such a number has.
    return `Float32Array ${listText(Array.from(value, (v) => Number(v.toPrecision(7))), within)}`;
  }
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    return `${value.constructor.name} ${listText(Array.from(value as Uint8Array), within)}`;
  }
  if (Array.isArray(value)) return listText(value, within);
  if (value instanceof Map) {
    const rows = [...value].map(([k, v]) => `${shown(k, within)} => ${shown(v, within)}`);
    return `Map {${rows.join(", ")}}`;
  }
  if (value instanceof Set) return `Set ${listText([...value], within)}`;
  const rows = Object.entries(value).map(([k, v]) => `${k}: ${shown(v, within)}`);
  return rows.length > 0 ? `{ ${rows.join(", ")} }` : "{}";
}

function listText(list: readonly unknown[], around: readonly unknown[]): string {
  const items = list.slice(0, MOST_ITEMS).map((v) => shown(v, around));
  return `[${items.join(", ")}${list.length > MOST_ITEMS ? ", …" : ""}]`;
}

/** Gives the classes of a module, and of the namespaces in it, the names that they are exported by: files of the site have short ones. */
export function nameClasses(module: object, above: readonly object[] = []): void {
  for (const [name, value] of Object.entries(module)) {
    if (typeof value === "function" && /^class\b/.test(Function.prototype.toString.call(value))) {
      Object.defineProperty(value, "name", { value: name, configurable: true });
    }
    if (isNamespace(value) && !above.includes(value)) nameClasses(value, [...above, value]);
  }
}

/** True for modules, and for the objects that stand for them in bundles. */
function isNamespace(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
