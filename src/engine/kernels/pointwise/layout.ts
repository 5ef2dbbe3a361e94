/** Layouts of broadcast operands for GPU kernels: each is indexed by the position of an element of the result. */
import { EIGHT, splitEight, vec, wgslType } from "../../core/gpu_storage.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import { type Shape, sizeOf } from "../../core/shape.ts";
import type { DType } from "../../core/dtype.ts";
import type { Expr } from "../../core/scalar/expr.ts";
import { loadElement, printWgsl } from "../../core/scalar/wgsl.ts";
import { collapseBroadcast } from "./broadcast.ts";

/** The index of an operand: like the output, always its only element, or by one of the stride sets. */
export type Access = "like" | "only" | number;

/** The layout of a problem's operands. */
export interface Layout {
  /** Number of elements that are computed at once. */
  readonly wide: 1 | 4 | 8;
  /** The access of each operand. */
  readonly access: readonly Access[];
  /** Extents of the loop nest, in elements; empty where no operand is strided. */
  readonly dims: readonly number[];
  /** Distinct stride sets, in elements. */
  readonly strides: readonly (readonly number[])[];
}

/** Makes the layout of operands that are broadcast to `out`, with at most `most` neighbours at once. */
export function layOut(ins: readonly ConcreteSpec[], out: Shape, most: Layout["wide"]): Layout {
  const size = sizeOf(out);
  const sizes = ins.map((i) => sizeOf(i.shape));
  if (sizes.every((n) => n === size || n === 1)) {
    const access = sizes.map((n): Access => (n === size ? "like" : "only"));
    const wide = access.includes("like") ? widest(most, [size]) : 1;
    return { wide, access, dims: [], strides: [] };
  }
  const walk = collapseBroadcast(out, ins.map((i) => i.shape));
  const inner = walk.dims.length - 1;
  const strides: (readonly number[])[] = [];
  const access = walk.strides.map((s, k): Access => {
    if (sizes[k] === size) return "like";
    if (sizes[k] === 1) return "only";
    const text = s.join();
    const known = strides.findIndex((t) => t.join() === text);
    return known >= 0 ? known : strides.push(s) - 1;
  });
  const { dims } = walk;
  if (strides.some((s) => s[inner] > 1)) return { wide: 1, access, dims, strides };
  const starts = strides.flatMap((s) => s[inner] === 1 ? s.slice(0, inner) : []);
  return { wide: widest(most, [dims[inner], ...starts]), access, dims, strides };
}

/** Returns the greatest number of neighbours, at most `most`, that divides all these numbers of elements. */
function widest(most: Layout["wide"], counts: readonly number[]): Layout["wide"] {
  const fits = (wide: number): boolean => wide <= most && counts.every((n) => n % wide === 0);
  return fits(8) ? 8 : fits(4) ? 4 : 1;
}

/** Returns extents and strides in the units of the kernel: in fours or eights where neighbours go together. */
export function indexWords({ wide, dims, strides }: Layout): number[] {
  const inner = dims.length - 1;
  return [
    ...dims.slice(1).map((d, i) => (i + 1 === inner ? d / wide : d)),
    ...strides.flatMap((s) => s.map((n, d) => (s[inner] === 1 && d !== inner ? n / wide : n))),
  ];
}

/** Names of the words of {@linkcode indexWords}. */
export function indexNames({ dims, strides }: Layout): string[] {
  return [
    ...dims.slice(1).map((_, i) => `d${i + 1}`),
    ...strides.flatMap((_, g) => dims.map((_, d) => `s${g}_${d}`)),
  ];
}

/** Returns a key that is equal for layouts with the same source, to which strides of 1 belong. */
export function layoutKey({ access, wide, dims, strides }: Layout): string {
  return `${access}|${wide}|${dims.length}|${strides.map((s) => s[s.length - 1] === 1)}`;
}

/** Expressions printed for the neighbours at one position. */
export interface PrintedElements {
  readonly helpers: readonly string[];
  /** Statements that compute the results. */
  readonly lines: readonly string[];
  /** For each expression the register texts of its neighbours; of eight, the even ones come first. */
  readonly lanes: readonly (readonly string[])[];
  readonly inputs: readonly string[];
}

/**
 * Prints expressions at position `i`, which counts groups of neighbours; `word` returns the text of an index word.
 * Operands are `in0`, `in1`, …; arguments beyond those of the layout are words `c0`, `c1`, ….
 */
export function printElements(
  exprs: readonly Expr[],
  dtypes: readonly DType[],
  layout: Layout,
  word: (name: string) => string,
): PrintedElements {
  const { wide, access, dims, strides } = layout;
  const rank = dims.length, inner = rank - 1;
  const lines: string[] = [];
  if (rank > 0) {
    // A dimension of extent 1 never gets here, so the innermost coordinate always needs the remainder.
    if (rank > 1) lines.push(`var r = i;`);
    for (let d = inner; d > 0; d--) {
      lines.push(`let x${d} = r % ${word(`d${d}`)}; r = r / ${word(`d${d}`)};`);
    }
    lines.push(`let x0 = ${rank > 1 ? "r" : "i"};`);
  }
  strides.forEach((_, g) => {
    const terms = dims.map((_, d) => `x${d} * ${word(`s${g}_${d}`)}`);
    lines.push(`let at${g} = ${terms.join(" + ")};`);
  });
  /** True for each operand that is loaded as a vector of neighbours. */
  const isVector = access.map((a) =>
    wide > 1 && (a === "like" || (typeof a === "number" && strides[a][inner] === 1))
  );
  access.forEach((a, k) => {
    const index = a === "like" ? "i" : a === "only" ? "0" : `at${a}`;
    const text = `in${k}[${index}]`;
    lines.push(`let v${k} = ${isVector[k] ? text : loadElement(dtypes[k], text)};`);
    if (wide < 8 || !isVector[k]) return;
    splitEight(wgslType(dtypes[k]), `v${k}`).forEach((four, h) =>
      lines.push(`let v${k}_${h} = ${four};`)
    );
  });
  let helpers: readonly string[] = [];
  const lanes: string[][] = exprs.map(() => []);
  for (let c = 0; c < wide; c++) {
    const four = wide === 8 ? `_${c >> 2}` : "";
    const args = dtypes.map((t, k) =>
      k >= access.length
        ? word(`c${k - access.length}`)
        : isVector[k]
        ? loadElement(t, `v${k}${four}.${"xyzw"[c & 3]}`)
        : `v${k}`
    );
    const printed = printWgsl(exprs, dtypes, args);
    const own = (text: string): string =>
      wide === 1 ? text : text.replace(/\bt(\d+)\b/g, `t$1_${c}`);
    helpers = printed.helpers;
    lines.push(...printed.lines.map(own));
    printed.results.forEach((r, k) => lanes[k].push(own(r)));
  }
  const inputs = dtypes.slice(0, access.length).map((t, k) =>
    isVector[k] && wide === 8 ? EIGHT : vec(wgslType(t), isVector[k] ? 4 : 1)
  );
  return { helpers, lines, lanes, inputs };
}
