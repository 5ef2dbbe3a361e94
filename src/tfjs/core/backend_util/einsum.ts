/** Equations of `einsum` for backends. */
import { assert } from "../util/checks.ts";

/** An equation with numbered labels, those of the result first. */
export interface EinsumEquation {
  /** Labels. */
  allDims: string[];
  /** Numbers of the summed labels. */
  summedDims: number[];
  /** Numbers of each operand's axes. */
  idDims: number[][];
}

/** Parses an equation. Throws where it does not fit the operands. */
export function decodeEinsumEquation(equation: string, numTensors: number): EinsumEquation {
  const text = equation.replaceAll(/\s/g, "");
  const sides = text.split("->");
  assert(sides.length === 2, () => `Cannot read the equation "${equation}": wanted one arrow (->)`);
  const [left, right] = sides, operands = left.split(",");
  assert(
    !text.includes("..."),
    () => `Cannot read the equation "${equation}": ellipses are not taken here`,
  );
  assert(
    operands.length === numTensors,
    () =>
      `Cannot read the equation "${equation}": it has ${operands.length} operands, there are ${numTensors}`,
  );
  assert(numTensors <= 2, "Cannot compute an equation of more than 2 operands here");
  const unknown = [...right].find((label) => !left.includes(label));
  assert(
    unknown === undefined,
    () => `Cannot read the equation "${equation}": no operand has the axis ${unknown}`,
  );
  const labels = new Set([...right, ...left.replaceAll(",", "")]);
  const allDims = [...labels];
  const idDims = operands.map((operand) => {
    assert(
      new Set(operand).size === operand.length,
      () => `Cannot read the equation "${equation}": ${operand} names an axis twice`,
    );
    return [...operand].map((label) => allDims.indexOf(label));
  });
  const kept = new Set(right).size;
  return { allDims, summedDims: allDims.map((_, i) => i).slice(kept), idDims };
}
/** Returns the axis of each label, and the labels that the operand lacks. */
export function getEinsumPermutation(
  nDims: number,
  idDims: readonly number[],
): { permutationIndices: number[]; expandDims: number[] } {
  const at = Array.from({ length: nDims }, (_, label) => idDims.indexOf(label));
  return {
    permutationIndices: at.filter((axis) => axis >= 0),
    expandDims: at.flatMap((axis, label) => axis < 0 ? [label] : []),
  };
}
/** Throws where a label has two extents. */
export function checkEinsumDimSizes(
  nDims: number,
  idDims: readonly (readonly number[])[],
  tensors: readonly { readonly shape: readonly number[] }[],
): void {
  const extents: (number | undefined)[] = new Array(nDims);
  tensors.forEach(({ shape }, i) => {
    idDims[i].forEach((label, axis) => {
      const known = extents[label] ??= shape[axis];
      assert(
        known === shape[axis],
        () => `Cannot compute an equation: axis ${axis} of [${shape}] should have extent ${known}`,
      );
    });
  });
}
/** Returns the operands in the order of multiplication, and the labels that are summed after each. */
export function getEinsumComputePath(
  summedDims: readonly number[],
  idDims: readonly (readonly number[])[],
): { path: number[]; steps: number[][] } {
  const path = [...summedDims];
  if (path.length === 0) path.push(-1);
  const steps: number[][] = Array.from({ length: path.length + 1 }, () => []);
  const used = new Set<number>();
  path.forEach((label, i) => {
    idDims.forEach((dims, operand) => {
      if (used.has(operand) || label !== -1 && !dims.includes(label)) return;
      used.add(operand);
      steps[i].push(operand);
    });
  });
  return { path, steps };
}
/** True where an order of axes is the identity. */
export function isIdentityPermutation(perm: readonly number[]): boolean {
  return perm.every((axis, i) => axis === i);
}
