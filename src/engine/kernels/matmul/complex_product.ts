/**
 * Products of complex matrices on the GPU: one product of real numbers, of rows of parts with a matrix in which each number a + bi stands as
 * the block [[a, b], [-b, a]].
 */
import type { BufferRef, Dispatch, GpuVariant, Profile } from "../../core/dispatch.ts";
import { epilogueOf } from "../../core/fusion.ts";
import type { Problem } from "../../core/op.ts";
import { shaderProgram } from "../../core/shader.ts";
import { type Shape, sizeOf } from "../../core/shape.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import { MATMUL_COMPLEX } from "../../../shaders_generated.ts";
import { flatDispatch } from "../dispatches.ts";
import { MATMUL_VARIANTS } from "./variants.ts";

/** An operand as it is stored, and whether its conjugates are meant. */
interface Operand {
  readonly shape: Shape;
  readonly transposed: boolean;
  readonly conjugated: boolean;
}

function operandsOf({ inputs: [a, b], attrs }: Problem): readonly [Operand, Operand] {
  const of = ({ shape }: ConcreteSpec, plain: unknown, adjoint: unknown): Operand => ({
    shape,
    transposed: Boolean(plain ?? adjoint),
    conjugated: Boolean(adjoint),
  });
  return [of(a, attrs.transpose_a, attrs.adj_x), of(b, attrs.transpose_b, attrs.adj_y)];
}

/** Returns rows and columns of the matrix that is meant. */
function extentsOf({ shape, transposed }: Operand): readonly [number, number] {
  const [rows, columns] = shape.slice(-2);
  return transposed ? [columns, rows] : [rows, columns];
}

/** Returns the product of real numbers. */
function realProblem(problem: Problem): Problem {
  const [a, b] = operandsOf(problem), [m, k] = extentsOf(a), [, n] = extentsOf(b);
  const real = (batch: Shape, rows: number, columns: number): ConcreteSpec => ({
    dtype: "float32",
    shape: [...batch, rows, columns],
  });
  return {
    inputs: [real(a.shape.slice(0, -2), m, 2 * k), real(b.shape.slice(0, -2), 2 * k, 2 * n)],
    hosts: [],
    outputs: [real(problem.outputs[0].shape.slice(0, -2), m, 2 * n)],
    attrs: {},
  };
}

function variantOf(problem: Problem, profile: Profile): GpuVariant | undefined {
  const { inputs } = problem;
  const bytes = inputs.map(({ shape }) => 4 * sizeOf(shape));
  if (bytes.some((n) => n > profile.maxBinding)) return undefined;
  return MATMUL_VARIANTS.find((v) => v.fits!(problem, profile));
}

/** Writes an operand's rows, or for the second one its blocks. */
function arranged(
  operand: Operand,
  [source, target]: readonly [BufferRef, BufferRef],
  blocks: boolean,
  profile: Profile,
): Dispatch[] {
  const [rows, columns] = extentsOf(operand), n = sizeOf(operand.shape);
  const { transposed, conjugated } = operand;
  const program = shaderProgram(MATMUL_COMPLEX, { blocks, transposed, conjugated }, {
    name: blocks ? "complex_blocks" : "complex_rows",
  });
  const work = { program, buffers: [source, target], params: [n, rows, columns] };
  return n === 0 ? [] : [flatDispatch(work, profile)];
}

/** The variant for complex64. */
export const COMPLEX_PRODUCT: GpuVariant = {
  name: "matmul_complex",
  complex: "only",
  fits: (problem, profile) =>
    epilogueOf(problem) === null &&
    variantOf(realProblem(problem), profile) !== undefined,
  plan: (problem, profile) => {
    const [a, b] = operandsOf(problem), real = realProblem(problem);
    const plan = variantOf(real, profile)!.plan(real, profile);
    const temps = [...plan.temps ?? []], before: Dispatch[] = [];
    const own = (i: number, operand: Operand, blocks: boolean): BufferRef => {
      const target = { temp: temps.push(Math.max(4, 4 * sizeOf(real.inputs[i].shape))) - 1 };
      before.push(...arranged(operand, [{ input: i }, target], blocks, profile));
      return target;
    };
    const isPlain = !a.transposed && !a.conjugated;
    const sources = [isPlain ? { input: 0 } : own(0, a, false), own(1, b, true)];
    const renamed = (ref: BufferRef): BufferRef => {
      if (!("input" in ref)) return ref;
      const { input, ...range } = ref;
      return { ...range, ...sources[input] };
    };
    const dispatches = plan.dispatches.map((d) => ({ ...d, buffers: d.buffers.map(renamed) }));
    return { dispatches: [...before, ...dispatches], temps };
  },
};
