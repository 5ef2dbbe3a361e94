/**
 * WGSL of pooling and its gradients: one result, or four or eight channels of one, an invocation. Images have channels last.
 */
import type { DType } from "../../core/dtype.ts";
import { flatId, makeProgram, type Program } from "../../core/dispatch.ts";
import {
  accType,
  EIGHT,
  joinEight,
  loadText,
  splitEight,
  storeText,
  wgslType,
} from "../../core/gpu_storage.ts";
import { axisNames, gatherParams, originText, placeText } from "../conv/gather.ts";
import { elementType } from "../matmul/text.ts";

/** What a pooling kernel makes. */
export type PoolKind =
  /** Greatest elements. */
  | "max"
  /** Means. */
  | "avg"
  /** The tap of the greatest element, as u32. */
  | "tap"
  /** What stands in a second operand at the greatest element. */
  | "pick"
  /** Greatest elements and their flat positions. */
  | "argmax";

/** What shapes a pooling kernel. */
export interface PoolSource {
  /** Element type. */
  readonly dtype: DType;
  /** There is a depth axis. */
  readonly deep: boolean;
  /** Four channels at once. */
  readonly wide: boolean;
  /** Besides, eight channels in one load, as two fours; only to `max` and `avg`. */
  readonly eights?: boolean;
  /** Invocations of a workgroup. */
  readonly workgroup: number;
  /** Taps of each axis of `axisNames`, where the program spells them out; loops otherwise. */
  readonly taps?: readonly number[] | undefined;
  /** No tap of any window is outside. */
  readonly inside?: boolean | undefined;
  /** Taps of the last axis, where only these are spelled out, in loops over the others; only where all are `inside`. */
  readonly run?: number | undefined;
  /** Each element gets the tap of a filter added first: dilation. The filter is bound after the image. */
  readonly filter?: boolean;
}

/** Uniform fields, in order; those of the axes follow. Channels count what is moved at once. */
export const POOL_PARAMS = ["total", "channels", "batched", "lowest:f32"] as const;

interface Types {
  readonly acc: string;
  readonly vec: string;
  readonly index: string;
  readonly flag: string;
  readonly store: (value: string) => string;
}

function typesOf({ dtype, wide }: PoolSource): Types {
  const acc = accType(dtype), vec = wide ? `vec4<${acc}>` : acc;
  return {
    acc,
    vec,
    index: wide ? "vec4<u32>" : "u32",
    flag: wide ? "vec4<bool>" : "bool",
    store: (value) => storeText(dtype, value, wide ? 4 : 1),
  };
}

/** Statements that split the invocation's index into channel `c`, image `n` and places. */
function indexText({ deep, workgroup }: PoolSource): string[] {
  return [
    `let i = ${flatId(workgroup)};`,
    "if (i >= p.total) { return; }",
    "let c = i % p.channels; let b = i / p.channels;",
    ...placeText(deep, "b", ""),
  ];
}

/** Does `body` for the taps of a window; in scope `px`, the pixel, and `tap`. Counts valid taps as `a` + `count`. */
function overWindow(source: PoolSource, body: readonly string[]): string[] {
  return source.taps ? windowBlocks(source, source.taps, body) : windowLoops(source, body);
}

/** A block for each tap. */
function windowBlocks(
  { deep, inside }: PoolSource,
  taps: readonly number[],
  body: readonly string[],
): string[] {
  const names = axisNames(deep);
  const lines: string[] = [];
  names.forEach((a, d) => {
    const valid = Array.from({ length: taps[d] }, (_, u) => {
      lines.push(`let ${a}p${u} = u32(${a}0 + ${u} * p.${a}step);`);
      return `select(0u, 1u, ${a}p${u} < p.${a}limit)`;
    });
    lines.push(`let ${a}count = ${inside ? `${taps[d]}u` : valid.join(" + ")};`);
  });
  const total = taps.reduce((a, b) => a * b, 1);
  for (let tap = 0; tap < total; tap++) {
    let rest = tap;
    const at = [...taps].reverse().map((n) => {
      const u = rest % n;
      rest = (rest - u) / n;
      return u;
    }).reverse();
    const places = names.map((a, d) => ({ axis: a, text: `${a}p${at[d]}` }));
    const pixel = places.reduce((text, p) => `(${text} * p.${p.axis}limit + ${p.text})`, "n");
    const valid = places.map((p) => `${p.text} < p.${p.axis}limit`).join(" && ");
    lines.push(
      inside ? "{" : `if (${valid}) {`,
      `let px = ${pixel}; let tap = ${tap}u;`,
      ...body,
      "}",
    );
  }
  return lines;
}

/** Nested loops over the taps. */
function windowLoops({ deep, inside, run }: PoolSource, body: readonly string[]): string[] {
  const names = axisNames(deep), looped = run === undefined ? names : names.slice(0, -1);
  const lines = names.map((a) => inside ? `let ${a}count = p.${a}taps;` : `var ${a}count = 0u;`);
  let pixel = "n", tap = "0u";
  for (const a of looped) {
    lines.push(
      ...(inside ? [] : [`${a}count = 0u;`]),
      `for (var u${a} = 0u; u${a} < p.${a}taps; u${a}++) {`,
      `let ${a}p = u32(${a}0 + i32(u${a}) * p.${a}step);`,
      ...(inside ? [] : [`if (${a}p >= p.${a}limit) { continue; }`, `${a}count++;`]),
    );
    pixel = `(${pixel} * p.${a}limit + ${a}p)`;
    tap = `(${tap} * p.${a}taps + u${a})`;
  }
  if (run === undefined) lines.push(`let px = ${pixel}; let tap = ${tap};`, ...body);
  else {
    const a = names[names.length - 1];
    lines.push(
      `let px0 = ${pixel} * p.${a}limit + u32(${a}0);`,
      `let tap0 = ${tap} * p.${a}taps;`,
    );
    for (let u = 0; u < run; u++) {
      lines.push(`{ let px = px0 + ${u}u * u32(p.${a}step); let tap = tap0 + ${u}u;`, ...body, "}");
    }
  }
  return [...lines, ...looped.map(() => "}")];
}

/** Declares `v`, the element at a tap. */
function elementText({ dtype, wide, filter }: PoolSource): string {
  const load = (text: string): string => loadText(dtype, text, wide ? 4 : 1);
  const element = load("in0[px * p.channels + c]");
  return filter
    ? `let v = ${element} + ${load("in1[tap * p.channels + c]")};`
    : `let v = ${element};`;
}

/** Something below every element. */
function lowestText({ acc, vec }: Types): string {
  return acc === "f32"
    ? `${vec}(p.lowest)`
    : acc === "i32"
    ? `${vec}(-2147483647 - 1)`
    : `${vec}(0u)`;
}

/** Statements that find `best`, the greatest element of the window, and its `tap` or `px` as `where_`; `none` where there is no tap. */
function searchText(source: PoolSource, name: "tap" | "px"): string[] {
  const types = typesOf(source), { acc, index, flag } = types;
  const nan = (x: string): string =>
    `((bitcast<${index}>(${x}) & ${index}(0x7fffffffu)) > ${index}(0x7f800000u))`;
  return [
    `var best = ${lowestText(types)};`,
    `var where_ = ${index}(0u);`,
    "var none = true;",
    ...overWindow(source, [
      elementText(source),
      // The first element, then any that is greater; a NaN gives way to a number.
      acc === "f32"
        ? `let take = (v > best) | (${nan("best")} & (${
          nan("v")
        } == ${flag}(false))) | ${flag}(none);`
        : `let take = (v > best) | ${flag}(none);`,
      "best = select(best, v, take);",
      `where_ = select(where_, ${index}(${name}), take);`,
      "none = false;",
    ]),
  ];
}

/** Windows as results. Inputs: the image and, to `pick`, what is picked from. */
export function poolProgram(kind: PoolKind, source: PoolSource): Program {
  const { dtype, deep, wide, workgroup } = source;
  const types = typesOf(source), { acc, vec, index, flag, store } = types;
  const names = axisNames(deep);
  const lanes = wide ? ["x", "y", "z", "w"] : [];
  const plain = source.eights ? EIGHT : elementType(dtype, wide);
  /** A statement for the channels that go together, each four of eight by itself: `v` and `r`, so numbered. */
  const fours = (text: string): string[] =>
    source.eights ? ["0", "1"].map((h) => text.replace(/\b[vr]\b/g, `$&_${h}`)) : [text];
  const loads = source.eights
    ? [
      `let w = in0[px * p.channels + c];`,
      ...splitEight(acc, "w").map((four, h) => `let v_${h} = ${four};`),
    ]
    : [elementText(source)];
  const storeAll = (value: string): string => {
    const [even, odd] = fours(value);
    return `out0[i] = ${source.eights ? joinEight(acc, even, odd) : store(even)};`;
  };
  const parts: Record<PoolKind, { lines: string[]; inputs: string[]; outputs: string[] }> = {
    max: {
      lines: [
        ...fours(`var r = ${lowestText(types)};`),
        ...overWindow(source, [...loads, ...fours("r = select(r, v, v > r);")]),
        storeAll("r"),
      ],
      inputs: [plain],
      outputs: [plain],
    },
    avg: {
      lines: [
        ...fours(`var r = ${vec}(0);`),
        ...overWindow(source, [...loads, ...fours("r += v;")]),
        // An axis with no valid tap leaves the inner counts of an earlier window untouched: they do not matter.
        `let count = ${names.map((a) => `${a}count`).join(" * ")};`,
        storeAll(`select(${vec}(0), r / ${acc}(max(count, 1u)), count > 0u)`),
      ],
      inputs: [plain],
      outputs: [plain],
    },
    tap: {
      lines: [
        ...searchText(source, "tap"),
        `out0[i] = select(where_, ${index}(0xffffffffu), ${flag}(none));`,
      ],
      inputs: [elementType(dtype, wide)],
      outputs: [index],
    },
    pick: {
      lines: [
        ...searchText(source, "px"),
        wide
          ? `out0[i] = ${elementType(dtype, true)}(${
            lanes.map((l, e) =>
              `select(${
                wgslType(dtype)
              }(0), in1[(where_.${l} * p.channels + c) * 4u + ${e}u], !none)`
            ).join(", ")
          });`
          : `out0[i] = select(${wgslType(dtype)}(0), in1[where_ * p.channels + c], !none);`,
      ],
      inputs: [elementType(dtype, wide), wgslType(dtype)],
      outputs: [elementType(dtype, wide)],
    },
    argmax: {
      lines: [
        ...searchText(source, "px"),
        `out0[i] = ${store("best")};`,
        `let pixels = ${names.map((a) => `p.${a}limit`).join(" * ")};`,
        `let at = where_ - ${index}(select(n * pixels, 0u, p.batched != 0u));`,
        wide
          ? `out1[i] = vec4<i32>((at * p.channels + c) * 4u + vec4(0u, 1u, 2u, 3u));`
          : "out1[i] = i32(at * p.channels + c);",
      ],
      inputs: [elementType(dtype, wide)],
      outputs: [elementType(dtype, wide), wide ? "vec4<i32>" : "i32"],
    },
  };
  const { lines, inputs, outputs } = parts[kind];
  if (source.filter) inputs.push(elementType(dtype, wide));
  return makeProgram({
    name: `pool_${kind}`,
    inputs,
    outputs,
    params: [...POOL_PARAMS, ...gatherParams(deep)],
    workgroup: [workgroup, 1, 1],
    body: [...indexText(source), ...originText(deep, ""), ...lines].join("\n"),
  });
}

/** Elements of the image as results, where each lies in just one window, by the window. Inputs: the image and the gradient. */
export function poolTileGradProgram(source: PoolSource): Program {
  const { dtype, deep, wide, workgroup } = source;
  const { vec, index, store } = typesOf(source), element = elementType(dtype, wide);
  const value = store(`select(${vec}(0), g, where_ == ${index}(tap))`);
  return makeProgram({
    name: "pool_max_tile_grad",
    inputs: [element, element],
    outputs: [element],
    params: [...POOL_PARAMS, ...gatherParams(deep)],
    workgroup: [workgroup, 1, 1],
    body: [
      ...indexText(source),
      ...originText(deep, ""),
      ...searchText(source, "tap"),
      `let g = ${loadText(dtype, "in1[i]", wide ? 4 : 1)};`,
      "{",
      ...overWindow(source, [`out0[px * p.channels + c] = ${value};`]),
      "}",
    ].join("\n"),
  });
}

/** Elements of the image as results: each collects from the windows it lies in. Inputs: the gradient and, for `max`, taps. */
export function poolGradProgram(kind: "max" | "avg", source: PoolSource): Program {
  const { dtype, deep, wide, workgroup } = source;
  const { acc, vec, index, store } = typesOf(source);
  const names = axisNames(deep);
  const lines = [
    `let i = ${flatId(workgroup)};`,
    "if (i >= p.total) { return; }",
    "let c = i % p.channels; let b = i / p.channels;",
  ];
  let rest = "b";
  for (const a of [...names].reverse()) {
    lines.push(`let ${a} = ${rest} % p.${a}limit; let ${a}r = ${rest} / p.${a}limit;`);
    rest = `${a}r`;
  }
  lines.push(`let n = ${rest};`, `var sum = ${vec}(0);`);
  let place = "n", tap = "0u";
  for (const a of names) {
    lines.push(
      `for (var u${a} = 0u; u${a} < p.${a}taps; u${a}++) {`,
      // A negative position wraps to a large one.
      `let ${a}a = u32(i32(${a}) - p.${a}add - i32(u${a}) * p.${a}step);`,
      `let ${a}t = ${a}a / p.${a}mul;`,
      `if (${a}t >= p.${a}rows || ${a}t * p.${a}mul != ${a}a) { continue; }`,
    );
    if (kind === "avg") {
      lines.push(
        `let ${a}o = i32(${a}t * p.${a}mul) + p.${a}add;`,
        `let ${a}lo = select(0, (p.${a}step - 1 - ${a}o) / p.${a}step, ${a}o < 0);`,
        `let ${a}hi = min(i32(p.${a}taps) - 1, (i32(p.${a}limit) - 1 - ${a}o) / p.${a}step);`,
        `let ${a}count = ${a}hi - ${a}lo + 1;`,
      );
    }
    place = `(${place} * p.${a}rows + ${a}t)`;
    tap = `(${tap} * p.${a}taps + u${a})`;
  }
  lines.push(
    `let at = ${place} * p.channels + c;`,
    `let g = ${loadText(dtype, "in0[at]", wide ? 4 : 1)};`,
  );
  lines.push(
    kind === "max"
      ? `sum += select(${vec}(0), g, in1[at] == ${index}(${tap}));`
      : `sum += g / ${acc}(${names.map((a) => `${a}count`).join(" * ")});`,
    ...names.map(() => "}"),
    `out0[i] = ${store("sum")};`,
  );
  return makeProgram({
    name: `pool_${kind}_grad`,
    inputs: kind === "max" ? [elementType(dtype, wide), index] : [elementType(dtype, wide)],
    outputs: [elementType(dtype, wide)],
    params: [...POOL_PARAMS, ...gatherParams(deep)],
    workgroup: [workgroup, 1, 1],
    body: lines.join("\n"),
  });
}

/** Elements of the gradient of a dilation's filter: each collects from the windows in which it won. Inputs: gradient, taps. */
export function dilationFilterProgram(source: PoolSource): Program {
  const { dtype, wide, workgroup } = source;
  const { vec, index, store } = typesOf(source);
  return makeProgram({
    name: "dilation_filter",
    inputs: [elementType(dtype, wide), index],
    outputs: [elementType(dtype, wide)],
    params: ["total", "channels", "places"],
    workgroup: [workgroup, 1, 1],
    body: `let i = ${flatId(workgroup)};
if (i >= p.total) { return; }
let c = i % p.channels; let tap = i / p.channels;
var sum = ${vec}(0);
for (var place = 0u; place < p.places; place++) {
  let at = place * p.channels + c;
  let g = ${loadText(dtype, "in0[at]", wide ? 4 : 1)};
  sum += select(${vec}(0), g, in1[at] == ${index}(tap));
}
out0[i] = ${store("sum")};`,
  });
}
