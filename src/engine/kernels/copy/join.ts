/**
 * Joining and splitting along an axis on the GPU: every tensor is seen as rows, of which each part holds a run of elements.
 */
import type {
  BufferRef,
  Dispatch,
  GpuPlan,
  GpuVariant,
  Profile,
  Program,
} from "../../core/dispatch.ts";
import type { DType } from "../../core/dtype.ts";
import { vec, wordType } from "../../core/gpu_storage.ts";
import type { MeaningOf, RowParts } from "../../core/meaning.ts";
import { flatDispatch } from "../dispatches.ts";
import { partsOf as slotsOf, partType } from "../pointwise/complex_problem.ts";
import { boundWhole } from "./pieces.ts";
import { streamProgram } from "./stream.ts";

/** The variants of an op that joins its inputs or splits one. */
export function exchangeVariants(
  { way, from, partsOf }: MeaningOf<"exchange">,
): readonly GpuVariant[] {
  return boundWhole([{
    name: way,
    complex: "too",
    plan: (problem, profile) => {
      const { dtype } = way === "join" ? problem.outputs[0] : problem.inputs[from];
      const { rows, widths } = partsOf(problem), each = slotsOf(dtype);
      const own = { rows, widths: widths.map((w) => each * w) };
      return exchange(way, own, partType(dtype), profile, from);
    },
  }]);
}

/** Dispatches of as many parts each as the adapter can bind; `from` is the input that is split. */
function exchange(
  way: "join" | "split",
  { rows, widths }: RowParts,
  dtype: DType,
  profile: Profile,
  from: number,
): GpuPlan {
  const unit = widths.every((w) => w % 4 === 0) ? 4 : 1, type = vec(wordType(dtype), unit);
  const total = widths.reduce((n, w) => n + w, 0) / unit;
  const starts: number[] = [];
  widths.reduce((at, w) => (starts.push(at / unit), at + w), 0);
  const used = widths.flatMap((w, k) => (w > 0 && rows > 0 ? [k] : []));
  const room = Math.min(profile.maxBuffers, 8) - 1;
  const dispatches: Dispatch[] = [];
  for (let i = 0; i < used.length; i += room) {
    const chunk = used.slice(i, i + room);
    const start = starts[chunk[0]];
    const sizes = chunk.map((k) => widths[k] / unit);
    const width = sizes.reduce((n, w) => n + w, 0);
    const ends = chunk.map((_, c) => sizes.slice(0, c + 1).reduce((a, b) => a + b, 0));
    const buffers: BufferRef[] = way === "join"
      ? [...chunk.map((input) => ({ input })), { output: 0 }]
      : [{ input: from }, ...chunk.map((output) => ({ output }))];
    dispatches.push(flatDispatch({
      program: joinProgram(way, chunk.length, type),
      buffers,
      params: [rows * width, width, total, start, ...sizes, ...ends],
    }, profile));
  }
  return { dispatches };
}

function joinProgram(way: "join" | "split", parts: number, type: string): Program {
  const list = Array.from({ length: parts }, (_, k) => k);
  const at = (k: number): string => `row * p.w${k} + j${k === 0 ? "" : ` - p.e${k - 1}`}`;
  const branches = list.map((k) => {
    const then = way === "join" ? `v = in${k}[${at(k)}];` : `out${k}[${at(k)}] = v;`;
    return k === parts - 1 ? `{ ${then} }` : `if (j < p.e${k}) { ${then} }`;
  }).join(" else ");
  const place = "row * p.total + p.start + j";
  return streamProgram({
    name: way,
    inputs: way === "join" ? list.map(() => type) : [type],
    outputs: way === "join" ? [type] : list.map(() => type),
    params: [
      ...["width", "total", "start"],
      ...list.map((k) => `w${k}`),
      ...list.map((k) => `e${k}`),
    ],
    body: `let row = i / p.width;
let j = i - row * p.width;
${
      way === "join"
        ? `var v: ${type};\n${branches}\nout0[${place}] = v;`
        : `let v = in0[${place}];\n${branches}`
    }`,
  });
}
