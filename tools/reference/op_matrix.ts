/**
 * The table of ops: dtypes, devices, gradients and the names that they have elsewhere, from the registries.
 *
 * @module
 */

import type { Portable } from "../../src/engine/core/portable.ts";
import type { ApiEntry } from "./api.ts";
import { escaped } from "./markdown.ts";

/** A row of the table. */
export interface OpRow {
  readonly op: string;
  /** Functions of the main entry whose documentation names the op. */
  readonly functions: readonly string[];
  readonly dtypes: string;
  readonly cpu: string;
  readonly gpu: string;
  readonly gradient: string;
  readonly tensorflow: string;
  /** Functions that TensorFlow.js has too. */
  readonly tfjs: readonly string[];
  readonly onnx: string;
}

/** Short names of dtypes, in the order in which a row has them. */
const SHORT: Readonly<Record<string, string>> = {
  float32: "f32",
  float16: "f16",
  bfloat16: "bf16",
  float64: "f64",
  int8: "i8",
  int16: "i16",
  int32: "i32",
  int64: "i64",
  uint8: "u8",
  uint16: "u16",
  uint32: "u32",
  uint64: "u64",
  bool: "bool",
  complex64: "c64",
  complex128: "c128",
  string: "string",
  resource: "handle",
  variant: "variant",
};

/** Makes the rows, by the names of the ops. */
export async function opRows(api: readonly ApiEntry[]): Promise<OpRow[]> {
  await Promise.all([import("../../mod.ts"), import("../../src/tensorflow/mod.ts")]);
  const { registeredOps, runsOnDevices } = await import("../../src/engine/core/op.ts");
  const { TABLES } = await import("../../src/onnx/write/ops/table.ts");
  const { OPS } = await import("../../src/onnx/ops/table.ts");
  const read = new Set(OPS.filter(({ rule }) => rule !== null).map(({ name }) => name));
  const functions = functionsByOp(api[0]!);
  const ofTfjs = new Set(
    api.find(({ name }) => name.endsWith("/tfjs-core"))!.groups
      .flatMap(({ symbols }) => symbols.map(({ name }) => name)),
  );
  return registeredOps().filter(({ name }) => /^[A-Z]\w*$/.test(name)).map((def): OpRow => {
    const { name, portable, grad, expand, cpu, gpu, meaning, host } = def;
    const own = functions.get(name) ?? [];
    const hasMeaning = !["opaque", "input", "constant"].includes(meaning.kind);
    const written = name in TABLES.rules || name in TABLES.parts || meaning.kind === "pointwise" ||
      expand !== undefined;
    return {
      op: name,
      functions: own,
      dtypes: dtypesOf(def),
      cpu: cpu || hasMeaning ? "kernel" : expand ? "parts" : host ? "host" : "–",
      gpu: gpu || hasMeaning ? "kernel" : expand && runsOnDevices(def) ? "parts" : "host",
      gradient: grad === null ? "none" : grad ? "own" : expand ? "parts" : "–",
      tensorflow: tensorflowName(name, portable),
      tfjs: own.filter((fn) => ofTfjs.has(fn)),
      onnx: [read.has(name) ? "read by this name" : "", written ? "written" : ""].filter((s) =>
        s !== ""
      ).join(", ") || "–",
    };
  }).sort((a, b) => a.op < b.op ? -1 : 1);
}

/** The op's name in a GraphDef that TensorFlow reads. */
function tensorflowName(name: string, portable: Portable | undefined): string {
  if (portable === "parts") return "parts";
  return typeof portable === "object" && "never" in portable ? "–" : name;
}

/** Functions by the op that their documentation names. */
function functionsByOp({ groups }: ApiEntry): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { name, kind, doc } of groups.flatMap(({ symbols }) => symbols)) {
    if (kind !== "function" || name.startsWith("compat.")) continue;
    for (const [, list] of doc.matchAll(/TensorFlow ops?\s+((?:`\w+`(?:,| and|\s)*)+)/g)) {
      for (const [, op] of list!.matchAll(/`(\w+)`/g)) {
        found.set(op!, [...found.get(op!) ?? [], name]);
      }
    }
  }
  return found;
}

/** The part of an op that {@linkcode dtypesOf} reads. */
interface Typed {
  readonly signature: {
    readonly inputArgs: readonly { readonly typeAttr?: string; readonly dtype?: string }[];
    readonly attrDefs: readonly { readonly name: string; readonly allowed?: readonly string[] }[];
  };
}

/** Dtypes of the first input, which are those of the op. */
function dtypesOf({ signature: { inputArgs, attrDefs } }: Typed): string {
  const [first] = inputArgs;
  if (first === undefined) return "–";
  if (first.typeAttr === undefined) return first.dtype === undefined ? "any" : SHORT[first.dtype]!;
  const allowed = attrDefs.find(({ name }) => name === first.typeAttr)?.allowed;
  if (allowed === undefined) return "any";
  return Object.keys(SHORT).filter((dtype) => allowed.includes(dtype)).map((d) => SHORT[d]).join(
    " ",
  );
}

/** The table as HTML; `placeOf` leads functions to their documentation. */
export function opTable(rows: readonly OpRow[], placeOf: (name: string) => string | null): string {
  const linked = (name: string): string => {
    const place = placeOf(name);
    return place === null ? `tf.${name}` : `<a href="${place}">tf.${name}</a>`;
  };
  const head = [
    "Op",
    "Functions",
    "Dtypes",
    "CPU",
    "GPU",
    "Gradient",
    "TensorFlow",
    "TensorFlow.js",
    "ONNX",
  ];
  const body = rows.map((row) =>
    `<tr>${
      [
        `<b>${row.op.replaceAll(/(?<=[a-z\d])(?=[A-Z])/g, "<wbr>")}</b>`,
        row.functions.map(linked).join(" "),
        row.dtypes,
        row.cpu,
        row.gpu,
        row.gradient,
        row.tensorflow === row.op ? "the same" : row.tensorflow,
        row.tfjs.map((name) => `tf.${name}`).join(" ") || "–",
        row.onnx,
      ].map((cell, i) => `<td>${i < 2 ? cell : escaped(cell)}</td>`).join("")
    }</tr>`
  );
  return `<table id="ops"><thead><tr>${
    head.map((h) => `<th scope="col">${h}</th>`).join("")
  }</tr></thead><tbody>${body.join("\n")}</tbody></table>`;
}
