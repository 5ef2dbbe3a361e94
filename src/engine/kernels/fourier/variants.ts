/**
 * Fourier transforms on the GPU: a dispatch for each stage. Real lines of an even length are transformed as half as many complex
 * numbers. Lengths with greater prime factors run on the host.
 */
import type { BufferRef, Dispatch, GpuVariant, Profile } from "../../core/dispatch.ts";
import { f32Bits } from "../../core/dispatch.ts";
import type { FourierKernel, MeaningOf } from "../../core/meaning.ts";
import type { Problem } from "../../core/op.ts";
import { shaderProgram } from "../../core/shader.ts";
import { sizeOf } from "../../core/shape.ts";
import { fillGpu } from "../copy/fill.ts";
import { bindsWhole } from "../copy/pieces.ts";
import { flatDispatch } from "../dispatches.ts";
import { inParts } from "../pointwise/complex_problem.ts";
import { FOURIER_STAGE, FOURIER_UNPACK } from "../window_shaders_generated.ts";

/** Greatest prime factor: an invocation sums so many numbers. */
const MOST_RADIX = 1024;
/** Greatest length whose products of two places fit a word. */
const MOST_LENGTH = 2 ** 22;

/** Real numbers above which fewer bytes are worth a dispatch more. */
const MANY = 2 ** 18;

/** Numbers of a line as `LOAD` and `STORE` of the shader name them. */
const COMPLEX = 0, REAL = 1, HALF = 2, PAIRS = 3, HALF_OF_PAIRS = 4;
type Numbers = typeof COMPLEX | typeof REAL | typeof HALF | typeof PAIRS | typeof HALF_OF_PAIRS;

/** A transform of `lines` lines, whose numbers are `inner` apart. */
interface Transform {
  readonly length: number;
  readonly lines: number;
  readonly inner: number;
  /** Numbers of a line that is read, and of one that is written. */
  readonly given: number;
  readonly made: number;
  readonly from: Numbers;
  readonly to: Numbers;
  readonly isInverse: boolean;
  /** Factors of inner numbers of a half spectrum that is read, of one that is written, and of all else that is written. */
  readonly factors: readonly [read: number, inner: number, all: number];
}

function transformOf(gives: FourierKernel, problem: Problem): Transform {
  const { inputs: [x], outputs: [y], hosts, attrs } = problem, rank = x.shape.length;
  const axis = gives === "along" ? rank + (attrs.axis as number) : rank - 1;
  const given = x.shape[axis], made = y.shape[axis];
  const isComplex = gives === "along" || gives === "fft" || gives === "ifft";
  const length = isComplex ? given : Number(hosts[1]!.data[0]);
  const base = {
    ...{ length, given, made },
    lines: sizeOf(x.shape.slice(0, axis)),
    inner: sizeOf(x.shape.slice(axis + 1)),
  };
  switch (gives) {
    case "rfft":
      return { ...base, from: REAL, to: HALF, isInverse: false, factors: [1, 1, 1] };
    case "irfft":
      return { ...base, from: HALF, to: REAL, isInverse: true, factors: [1, 1, 1 / length] };
    case "rfft adjoint":
      return { ...base, from: HALF, to: REAL, isInverse: true, factors: [0.5, 1, 1] };
    case "irfft adjoint": {
      const factors = [1, 2 / length, 1 / length] as const;
      return { ...base, from: REAL, to: HALF, isInverse: false, factors };
    }
  }
  const isInverse = gives === "ifft" || attrs.inverse === true;
  const factors = [1, 1, isInverse ? 1 / length : 1] as const;
  return { ...base, from: COMPLEX, to: COMPLEX, isInverse, factors };
}

/** Returns the factors of a length, the greatest first: eights, fours and twos last; null where one is too great. */
function radicesOf(length: number): number[] | null {
  const radices: number[] = [];
  let left = length;
  for (let factor = 3; factor * factor <= left; factor += 2) {
    while (left % factor === 0) {
      radices.push(factor);
      left /= factor;
    }
    if (factor > MOST_RADIX) return null;
  }
  let twos = 1;
  while (left % 2 === 0) {
    twos *= 2;
    left /= 2;
  }
  if (left > 1) radices.push(left);
  // Two fours are fewer numbers at once than an eight and a two.
  for (; twos > 4; twos /= 8) {
    if (twos === 16) break;
    radices.push(8);
  }
  if (twos === 16) radices.push(4, 4);
  else if (twos >= 2) radices.push(twos);
  if (radices.length === 0) radices.push(1);
  return radices.every((r) => r <= MOST_RADIX) ? radices : null;
}

/** The variants of a transform. */
export function fourierVariants({ gives }: MeaningOf<"fourier">): readonly GpuVariant[] {
  return [{
    name: "fourier",
    complex: "too",
    fits: (problem, profile) => {
      const t = transformOf(gives, problem);
      return t.length >= 1 && t.length <= MOST_LENGTH && bindsWhole(problem, profile) &&
        8 * t.lines * t.length * t.inner <= profile.maxBinding && radicesOf(t.length) !== null;
    },
    plan: (problem, profile) => {
      const t = transformOf(gives, problem), [y] = problem.outputs;
      if (sizeOf(y.shape) === 0) return { dispatches: [] };
      // What no invocation writes is 0.
      const covered = t.to === COMPLEX ? t.made : t.to === REAL ? t.length : (t.length >> 1) + 1;
      const before = t.made > covered || t.given === 0
        ? fillGpu(inParts(y), profile, { value: 0 }).dispatches
        : [];
      if (t.given === 0) return { dispatches: before };
      const { dispatches, temps } = inPairs(t, profile) ?? stages(t, profile);
      return { dispatches: [...before, ...dispatches], temps };
    },
  }];
}

const typeOf = (numbers: Numbers): string =>
  numbers === REAL || numbers === PAIRS ? "f32" : "vec2<f32>";

interface Stages {
  readonly dispatches: Dispatch[];
  readonly temps: number[];
}

/** Transforms real lines as complex ones of half the length; null where that is not worth it. */
function inPairs(t: Transform, profile: Profile): Stages | null {
  const { length, lines, from, to, factors: [read, inner, all] } = t, pairs = length / 2;
  if (length % 2 !== 0 || from !== REAL && to !== REAL) return null;
  const count = radicesOf(pairs)!.length, before = radicesOf(length)!.length;
  const half = { ...t, length: pairs };
  if (to === REAL) {
    const factors = [read, 1, all] as const;
    return count > before
      ? null
      : stages({ ...half, from: HALF_OF_PAIRS, to: PAIRS, factors }, profile);
  }
  const isWorth = count < before || count > 2 && lines * length >= MANY;
  if (!isWorth) return null;
  const spectra = { ...half, made: pairs, from: PAIRS, to: COMPLEX, factors: [1, 1, 1] } as const;
  const { dispatches, temps } = stages(spectra, profile, true), each = (pairs >> 1) + 1;
  const unpack = flatDispatch({
    program: shaderProgram(FOURIER_UNPACK, {}, { name: "fourier_unpack" }),
    buffers: [{ temp: (count - 1) % 2 }, { output: 0 }],
    params: [lines * each, pairs, each, t.made, f32Bits(inner), f32Bits(all)],
  }, profile);
  return { dispatches: [...dispatches, unpack], temps };
}

/** `inTemp`: the last stage writes where another dispatch reads. */
function stages(t: Transform, profile: Profile, inTemp = false): Stages {
  const { length, lines, inner } = t, radices = radicesOf(length)!, last = radices.length - 1;
  const count = Math.min(inTemp ? last + 1 : last, 2);
  const temps = new Array<number>(count).fill(8 * lines * length * inner);
  let source: BufferRef = { input: 0 }, step = 1;
  const dispatches = radices.map((radix, k): Dispatch => {
    const target: BufferRef = k === last && !inTemp ? { output: 0 } : { temp: k % 2 };
    const isKnown = radix === 2 || radix === 4 || radix === 8;
    const load = k === 0 ? t.from : COMPLEX, store = k === last ? t.to : COMPLEX;
    const program = shaderProgram(FOURIER_STAGE, {
      radix: isKnown ? radix : 0,
      load,
      store,
      inverse: k === 0 && t.isInverse,
      conjugate: k === last && t.isInverse,
      plain: k === last,
      element: typeOf(load),
      result: typeOf(store),
    }, { name: "fourier" });
    const [read, ofInner, all] = k === last ? t.factors : [t.factors[0], 1, 1];
    const part = length / radix;
    const work = {
      program,
      buffers: [source, target],
      params: [
        lines * inner * (isKnown ? part : length),
        ...[radix, length, part, step, inner],
        ...[k === 0 ? t.given : length, k === last ? t.made : length],
        ...[read, ofInner, all].map(f32Bits),
      ],
    };
    source = target;
    step *= radix;
    return flatDispatch(work, profile);
  });
  return { dispatches, temps };
}
