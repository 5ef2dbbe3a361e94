/** Windows made of one cosine. */
import { wantNumber } from "../../core/arguments.ts";
import type { Tensor } from "../../core/tensor.ts";
import { tensor } from "../array/creation.ts";

/** Returns `a - b cos(2πx / N)`, where N is the length if that is even, else one less. */
export function cosineWindow(
  fn: string,
  windowLength: number,
  [a, b]: readonly [number, number],
): Tensor {
  wantNumber(windowLength, "windowLength", fn);
  const period = windowLength + (1 - windowLength % 2) - 1;
  const values = new Float32Array(windowLength);
  for (let i = 0; i < windowLength; i++) values[i] = a - b * Math.cos(2 * Math.PI * i / period);
  return tensor(values);
}
