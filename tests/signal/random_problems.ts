/** Problems of random shapes for complex numbers: those of real ones with other elements, and Fourier transforms. */

import { type Draw, RANDOM_PROBLEMS, type RandomProblem } from "../ops/random_problems.ts";
import { MORE_RANDOM_PROBLEMS } from "../ops/random_problems_more.ts";
import { number } from "../ops/values.ts";

type Problems = (d: Draw) => RandomProblem;

/** The problems of an op with complex elements in some inputs. */
function complex(op: string, isElement: (input: number, count: number) => boolean): Problems {
  const draw = { ...RANDOM_PROBLEMS, ...MORE_RANDOM_PROBLEMS }[op];
  return (d) => {
    const { inputs, ...rest } = draw(d);
    return {
      ...rest,
      inputs: inputs.map((x, i) =>
        isElement(i, inputs.length) ? d.values(x.shape, "complex64") : x
      ),
    };
  };
}

const first = (i: number): boolean => i === 0;
const second = (i: number): boolean => i === 1;
const all = (): boolean => true;

/** Lengths of all kinds: powers of two, small factors, primes, their products. */
function lengthOf(d: Draw): number {
  const small = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 25, 30, 32, 37, 48, 64, 77, 97, 100];
  return d.pick([...small, 128, 243, 256, 360, 509, 512, 1000, 1024, 2048]);
}

function rowsOf(d: Draw): number[] {
  return d.shape(d.whole(0, 2), 9, 5);
}

function whole(d: Draw): RandomProblem {
  return { inputs: [d.values([...rowsOf(d), lengthOf(d)], "complex64")] };
}

function along(d: Draw): RandomProblem {
  const shape = [...rowsOf(d), lengthOf(d), d.side(9)], deep = d.coin();
  if (deep) shape.push(d.side(5));
  return {
    inputs: [d.values(shape, "complex64")],
    attrs: { axis: deep ? -3 : -2, inverse: d.coin() },
  };
}

/** Rows that are cut, padded or neither. */
function given(d: Draw, length: number): number {
  return d.pick([length, length, d.whole(1, length), length + d.whole(1, 9)]);
}

function fromReal(d: Draw): RandomProblem {
  const length = lengthOf(d);
  return { inputs: [d.values([...rowsOf(d), given(d, length)]), number(length)] };
}

function fromHalf(d: Draw): RandomProblem {
  const length = lengthOf(d), bins = (length >> 1) + 1;
  return { inputs: [d.values([...rowsOf(d), given(d, bins)], "complex64"), number(length)] };
}

function realAdjoint(d: Draw): RandomProblem {
  const length = lengthOf(d), bins = (length >> 1) + 1;
  const dy = d.values([...rowsOf(d), bins], "complex64");
  return { inputs: [dy, number(length), number(given(d, length))] };
}

function halfAdjoint(d: Draw): RandomProblem {
  const length = lengthOf(d), bins = (length >> 1) + 1;
  return {
    inputs: [d.values([...rowsOf(d), length]), number(length), number(given(d, bins))],
  };
}

/** By op, which may be followed by words. */
export const COMPLEX_RANDOM_PROBLEMS: Readonly<Record<string, Problems>> = {
  "AddV2 of complex numbers": complex("AddV2", all),
  "Mul of complex numbers": complex("AddV2", all),
  "Sum of complex numbers": complex("Sum", first),
  "Mean of complex numbers": complex("Mean", first),
  "GatherV2 of complex numbers": complex("GatherV2", first),
  "UnsortedSegmentSum of complex numbers": complex("UnsortedSegmentSum", first),
  "ConcatV2 of complex numbers": complex("ConcatV2", (i, count) => i < count - 1),
  "Split of complex numbers": complex("Split", second),
  "Transpose of complex numbers": complex("Transpose", first),
  "Slice of complex numbers": complex("Slice", first),
  "Pad of complex numbers": complex("Pad", first),
  "Tile of complex numbers": complex("Tile", first),
  "ReverseV2 of complex numbers": complex("ReverseV2", first),
  "Fill of complex numbers": complex("Fill", second),
  FFT: whole,
  IFFT: whole,
  _FFTAlong: along,
  RFFT: fromReal,
  IRFFT: fromHalf,
  _RFFTAdjoint: realAdjoint,
  _IRFFTAdjoint: halfAdjoint,
};
