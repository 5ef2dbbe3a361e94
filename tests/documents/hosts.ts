/** Examples of documents as modules for hosts that are not Deno: types are taken off, and printed lines compared as there. */

import { transform } from "esbuild";
import { type Example, examplesOf } from "../../tools/doc_test.ts";

/** Writes values nearly as `Deno.inspect` does: what documents print. */
const SHOWN = `
const shown = (v, within) =>
  typeof v === "string" ? (within ? JSON.stringify(v) : v)
  : typeof v === "bigint" ? v + "n"
  : Array.isArray(v) ? "[" + v.map((x) => shown(x, true)).join(", ") + "]"
  : ArrayBuffer.isView(v) ? v.constructor.name + "(" + v.length + ") [" + [...v].map((x) => shown(x, true)).join(", ") + "]"
  : v?.[Symbol.for("nodejs.util.inspect.custom")] ? v[Symbol.for("nodejs.util.inspect.custom")]()
  : typeof v === "object" && v !== null
  ? "{" + Object.entries(v).map(([k, x]) => k + ": " + shown(x, true)).join(", ") + "}"
  : String(v);
const squeezed = (text) => text.replace(/\\s+/g, " ").replace(/([[{(]) /g, "$1").replace(/ ([\\]})])/g, "$1");
const printed = (wanted) => (...values) => {
  const line = squeezed(values.map((v) => shown(v, false)).join(" "));
  const parts = wanted.split("…").map((part) => part.replace(/[.*+?^\${}()|[\\]\\\\]/g, "\\\\$&"));
  if (!new RegExp("^" + parts.join(".*") + "$").test(line)) throw new Error("Printed " + line + ", wanted " + wanted);
};
`;

/** Modules that examples of a host import: the package alone, and in Node what Node brings. */
const IMPORTS: Readonly<Record<"page" | "node", RegExp>> = {
  page: /"@weft\/weft(\/(eager|ops))?";$/,
  node: /"(@weft\/weft(\/(eager|ops))?|node:[\w/]+)";$/,
};

/** Examples of a host, which ask nothing of Deno. */
export function portableExamples(
  files: readonly string[],
  host: "page" | "node",
): Example[] {
  return files.flatMap((file) => examplesOf(file)).filter(({ imports, body }) =>
    [...imports.values()].every((text) => IMPORTS[host].test(text)) &&
    !/\bDeno\./.test(body)
  );
}

/** An example as a module of JavaScript, without `using`, which Node 20 has not. */
export async function moduleOf({ imports, body }: Example): Promise<string> {
  const text = `${[...new Set(imports.values())].join("\n")}\n${SHOWN}\n{\n${body}\n}\n`;
  // Types that are imported go with what has no value.
  const { code } = await transform(text, { loader: "ts", format: "esm", target: "es2022" });
  return code;
}
