/** Ops of a GraphDef that call functions: their results, and the signatures of the functions. */
import { type DType, DTYPES } from "../../engine/core/dtype.ts";
import { ValueError } from "../../engine/core/errors.ts";
import type { OpDef } from "../../engine/core/op.ts";
import type { NodeDefJson, ShapeJson } from "../../engine/graph/graph_def_json.ts";
import { isLoop } from "./nodes.ts";

interface Called {
  readonly name: string;
  readonly graph: { readonly inputs: readonly { readonly dtype: DType }[] };
  readonly outputs: readonly { readonly dtype: DType }[];
}

/**
 * The number of a control flow op's inputs that are its functions' arguments; the rest are captures. -1: the predicate
 * of If is no argument.
 */
export const OWN_ARGUMENTS: Readonly<
  Record<string, (attrs: Readonly<Record<string, unknown>>, inputs: number) => number>
> = {
  If: () => -1,
  While: ({ Tout }) => (Tout as unknown[]).length,
  Scan: (attrs, inputs) => {
    const elems = attrs.elems as number, states = attrs.states as number;
    const results = (attrs.Tout as unknown[]).length;
    if (elems < 1 || states < 0 || elems + states > inputs || states > results) {
      throw new ValueError(
        `${elems} elems and ${states} states do not fit ${inputs} inputs and ${results} outputs`,
      );
    }
    return elems + states;
  },
};

/** Throws `ValueError` where a function's arguments or results do not fit the op. */
export function checkCall(
  f: Called,
  { op, attr, inputs, results, isNarrow }: {
    readonly op: OpDef;
    readonly attr: string;
    readonly inputs: readonly { readonly dtype: DType }[];
    readonly results: readonly DType[];
    /** True where 64-bit integers are narrowed. */
    readonly isNarrow: boolean;
  },
): void {
  const given = (/If$/.test(op.name) ? inputs.slice(1) : inputs).map((t) => t.dtype);
  const taken = f.graph.inputs.map((t) => t.dtype), returned = f.outputs.map((t) => t.dtype);
  const differ = (how: string, have: readonly DType[], want: readonly DType[]): ValueError =>
    new ValueError(
      `function ${f.name} ${how} (${have.join(", ")}), but "${attr}" of ${op.name} wants (${
        want.join(", ")
      })`,
    );
  if (taken.join() !== given.join()) throw differ("takes", taken, given);
  if (isLoop(op.name) && attr === "cond") {
    if (returned.length !== 1) throw differ("returns", returned, ["bool"]);
    return;
  }
  // The body of a While also returns the values that it only reads.
  const kept = isLoop(op.name) ? returned.slice(0, results.length) : returned;
  // A TensorArray, a handle in the file, is a stacked tensor here.
  const fits = (t: DType, i: number): boolean =>
    t === results[i] || results[i] === "variant" || (isNarrow && results[i] === "int64");
  if (kept.length !== results.length || !kept.every(fits)) {
    throw differ("returns", returned, results);
  }
}

/**
 * TensorFlow's While has one list of types and returns all its inputs; this one records how many of them are loop
 * variables.
 */
export function whileAttrs(
  def: NodeDefJson,
  inputs: readonly { readonly dtype: DType }[],
): NodeDefJson["attr"] {
  const type = inputs.map((t) => DTYPES[t.dtype].tfEnum);
  const n = Number(def.attr?._loop_vars?.i ?? inputs.length);
  if (!Number.isInteger(n) || n < 0 || n > inputs.length) {
    throw new ValueError(`it has ${n} loop variables and ${inputs.length} inputs`);
  }
  const written = def.attr?.output_shapes?.list?.shape;
  const isWritten = Array.isArray(written) && written.length >= n;
  const unknown: ShapeJson = { unknownRank: true };
  const declared = def.attr?.T?.list?.type ?? [];
  // A TensorArray is a scalar in TensorFlow and has its rows here.
  const shape = Array.from(
    { length: n },
    (_, i) => !isWritten || declared[i] === "DT_VARIANT" ? unknown : written[i],
  );
  return {
    ...def.attr,
    Tin: { list: { type } },
    Tout: { list: { type: type.slice(0, n) } },
    output_shapes: { list: { shape } },
  };
}
