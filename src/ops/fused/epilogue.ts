/**
 * Products and convolutions that end with an expression over each of their sums. Plans put them in place of two ops; users do not
 * see them. The op of `MatMul` is `_MatMulEpilogue`, and so on.
 */
import { apply1 } from "../../core/apply.ts";
import type { DType } from "../../core/dtype.ts";
import { type Attrs, defineOp, type OpDef, type Problem } from "../../core/op.ts";
import type { Expr } from "../../core/scalar/expr.ts";
import { sizeOf } from "../../core/shape.ts";
import { onGpu } from "../../kernels/gpu_kernels.ts";
import { isChannelsFirst } from "../../kernels/conv/geometry.ts";
import type { Epilogue, EpilogueOperand } from "../../kernels/matmul/epilogue.ts";
import { setMeaning } from "../../kernels/host/meaning.ts";
import { Conv2D } from "../conv/conv.ts";
import { DepthwiseConv2dNative } from "../conv/conv_depthwise.ts";
import { FusedPointwise } from "./fused.ts";
import type { FusedInit } from "./activation.ts";
import { BatchMatMulV2, MatMul } from "../linalg/matmul.ts";

/** How an epilogue reads an operand. */
export type OperandAccess = EpilogueOperand["per"];

/** The epilogue of a problem; null where an operand has not as many elements as its access reads. */
function epilogueOf({ inputs, outputs: [out], attrs }: Problem): Epilogue | null {
  const size = { all: 1, column: out.shape[out.shape.length - 1], element: sizeOf(out.shape) };
  const operands = (attrs.per as OperandAccess[]).map((per, i): EpilogueOperand => ({
    dtype: inputs[2 + i].dtype,
    buffer: { input: 2 + i },
    per,
  }));
  const fit = operands.every(({ per }, i) => sizeOf(inputs[2 + i].shape) === size[per]);
  return fit ? { expr: attrs.expr as Expr, operands } : null;
}

/** Defines the op that ends another with an expression. Its inputs are the other's two, then the operands; argument 0 is the sum. */
function defineEpilogue(base: OpDef, gpu: FusedInit["gpu"]): OpDef {
  const name = `_${base.name}Epilogue`;
  const [a, b] = base.signature.inputArgs;
  setMeaning(name, { epilogue: epilogueOf });
  return defineOp({
    name,
    inputs: [`${a.name}: T`, `${b.name}: T`, "operand: Toperand"],
    outputs: [`${base.signature.outputArgs[0].name}: Tout`],
    attrs: [
      ...base.attrs!.map((text) => (text.startsWith("T:") ? "T: {float16, float32}" : text)),
      "Tout: {float16, float32} = float32",
      "Toperand: list(type)",
      "expr: expr",
      "per: list(string)",
    ],
    infer: (inputs, attrs) => base.infer(inputs.slice(0, 2), attrs),
    grad: null,
    portable: { never: "only plans make it" },
    gpu: onGpu((kernels) => {
      const { fits, plan } = gpu(kernels);
      return [{
        name: name.slice(1),
        fits: (problem, profile) =>
          sizeOf(problem.outputs[0].shape) > 0 && epilogueOf(problem) !== null &&
          problem.inputs.length + 1 <= profile.maxBuffers && fits(problem, profile),
        plan: (problem, profile) => plan(problem, profile, epilogueOf(problem)!),
      }];
    }),
    expand: ([x, y, ...rest], attrs: Attrs) => {
      const own = Object.fromEntries(base.signature.attrDefs.map((d) => [d.name, attrs[d.name]]));
      const inputs = [apply1(base, [x, y], own), ...rest];
      return [apply1(FusedPointwise, inputs, {
        Tin: inputs.map((t): DType => t.dtype),
        Tout: [attrs.Tout],
        exprs: [attrs.expr],
      })];
    },
  });
}

const matrices: FusedInit["gpu"] = ({ matMulFits, matMulTask, planMatMul }) => ({
  fits: matMulFits,
  plan: (problem, profile, epilogue) => planMatMul({ ...matMulTask(problem), epilogue }, profile),
});
defineEpilogue(MatMul, matrices);
defineEpilogue(BatchMatMulV2, matrices);

const REFS = { a: { input: 0 }, b: { input: 1 }, c: { output: 0 } } as const;
const dtypesOf = ({ inputs, outputs }: Problem): { dtype: DType; out: DType } => ({
  dtype: inputs[0].dtype,
  out: outputs[0].dtype,
});

defineEpilogue(Conv2D, ({ convFits, forwardGeometry, planConv }) => ({
  fits: (problem, profile) => !isChannelsFirst(problem.attrs) && convFits(problem, profile),
  plan: (problem, profile, epilogue) =>
    planConv(
      { ...REFS, ...dtypesOf(problem), geometry: forwardGeometry(problem), epilogue },
      profile,
    ),
}));
defineEpilogue(DepthwiseConv2dNative, ({ convFits, depthwiseGeometry, planDepthwise }) => ({
  fits: (problem, profile) => !isChannelsFirst(problem.attrs) && convFits(problem, profile),
  plan: (problem, profile, epilogue) => {
    const [x, filter] = problem.inputs;
    const geometry = depthwiseGeometry(x.shape, filter.shape, problem.attrs);
    return planDepthwise({ ...REFS, ...dtypesOf(problem), geometry, epilogue }, profile);
  },
}));
