/** Rules that `./tf` alone has: cells of LSTM and GRU as TensorFlow's fused ops have them, over one step or a block of steps, and their gradients. */
import type { Tensor } from "../../../engine/core/tensor.ts";
import { zerosLike } from "../../../engine/ops/array/creation.ts";
import { split } from "../../../engine/ops/array/join.ts";
import { expandDims, reshape, shape } from "../../../engine/ops/array/view.ts";
import { matMul } from "../../../engine/ops/linalg/matmul.ts";
import { add, addN, mul, sub } from "../../../engine/ops/pointwise/arithmetic.ts";
import { less } from "../../../engine/ops/pointwise/compare.ts";

import { square } from "../../../engine/ops/pointwise/power.ts";
import { clipByValue, where } from "../../../engine/ops/pointwise/select.ts";
import { sum } from "../../../engine/ops/reduce/reduce.ts";
import { concat, range, slice } from "../../../engine/ops/of_files.ts";
import { cast } from "../../../engine/ops/array/cast.ts";
import { scan } from "../../../engine/runtime/control/functional_ops.ts";
import { addEntries } from "../op_table.ts";
import { type ImportedNode, put1, rule } from "../rule.ts";

const NAMES = ["i", "cs", "f", "o", "ci", "co", "h"];
const NAMES_OF_BLOCK_GRAD = ["x_grad", "cs_prev_grad", "h_prev_grad", "w_grad", "wci_grad"];

const sigmoid = (x: Tensor): Tensor => put1("Sigmoid", [x]);
const tanh = (x: Tensor): Tensor => put1("Tanh", [x]);
const gated = (y: Tensor): Tensor => mul(y, sub(1, y));
const product = (a: Tensor, b: Tensor): Tensor => matMul(a, b, false, true);

/** The rows of weights that multiply the inputs, and those that multiply the state before. */
function parts(w: Tensor, h: Tensor): [Tensor, Tensor] {
  const rows = shape(w), units = shape(h);
  const inputs = sub(slice(rows, [0], [1]), slice(units, [-1 + (h.staticShape?.length ?? 2)], [1]));
  const known = w.staticShape?.[0], unit = h.staticShape?.at(-1);
  if (known != null && unit != null) {
    return [slice(w, [0, 0], [known - unit, -1]), slice(w, [known - unit, 0])];
  }
  const zero = zerosLike(inputs), all = sub(zero, 1);
  return [
    slice(w, concat([zero, zero]), concat([inputs, all])),
    slice(w, concat([inputs, zero]), concat([all, all])),
  ];
}

/** The settings of a cell, as its attributes say. */
interface Cell {
  /** True where the gate that forgets comes before the input's, as in version 2. */
  readonly forgetsFirst: boolean;
  readonly forgetBias: number;
  /** Limit of the state; 0 for none. */
  readonly clip: number;
  /** Weights of the state in the gates; null for none. */
  readonly peeps: readonly Tensor[] | null;
}

function cellOf({ attr }: ImportedNode, peeps: readonly Tensor[], version: 1 | 2): Cell {
  const clip = Number(attr.cell_clip?.f ?? (version === 1 ? 3 : 0));
  return {
    forgetsFirst: version === 2,
    forgetBias: version === 2 ? 0 : Number(attr.forget_bias?.f ?? 1),
    clip: Math.max(0, clip),
    peeps: attr.use_peephole?.b === true ? peeps : null,
  };
}

/** One step of an LSTM from the sums of its gates: `i`, `cs`, `f`, `o`, `ci`, `co`, `h`. */
function lstmStep(cell: Cell, gates: Tensor, before: Tensor): Tensor[] {
  const { forgetsFirst, forgetBias, clip, peeps } = cell;
  const [first, a, b, last] = split(gates, 4, 1), [forget, update] = forgetsFirst ? [a, b] : [b, a];
  const seen = (x: Tensor, k: number, cs: Tensor): Tensor =>
    peeps === null ? x : add(x, mul(cs, peeps[k]));
  const i = sigmoid(seen(first, 0, before)), ci = tanh(update);
  const f = sigmoid(seen(forgetBias === 0 ? forget : add(forget, forgetBias), 1, before));
  const sums = add(mul(ci, i), mul(before, f));
  const cs = clip > 0 ? clipByValue(sums, -clip, clip) : sums;
  const o = sigmoid(seen(last, 2, cs)), co = tanh(cs);
  return [i, cs, f, o, ci, co, mul(o, co)];
}

/** The gradient of a step: that of the state before, of the gates' sums, and what the weights of the state get of each row. */
function lstmStepGrad(
  { forgetsFirst, peeps }: Cell,
  [i, cs, f, o, ci, co]: readonly Tensor[],
  { before, dcs, dh }: { readonly before: Tensor; readonly dcs: Tensor; readonly dh: Tensor },
): { before: Tensor; gates: Tensor; peeps: Tensor[] } {
  const last = mul(gated(o), mul(dh, co));
  const own = add(mul(mul(dh, o), sub(1, square(co))), dcs);
  const d = peeps === null ? own : add(own, mul(last, peeps[2]));
  const update = mul(sub(1, square(ci)), mul(d, i));
  const forget = mul(gated(f), mul(d, before)), first = mul(gated(i), mul(d, ci));
  const kept = mul(d, f);
  return {
    before: peeps === null ? kept : addN([kept, mul(first, peeps[0]), mul(forget, peeps[1])]),
    gates: concat(
      forgetsFirst ? [first, forget, update, last] : [first, update, forget, last],
      1,
    ),
    peeps: peeps === null ? [] : [mul(first, before), mul(forget, before), mul(last, cs)],
  };
}

function lstmCell(node: ImportedNode): Tensor[] {
  const [x, before, h, w, ...more] = node.inputs;
  const gates = add(matMul(concat([x, h], 1), w), more[3]);
  return lstmStep(cellOf(node, more.slice(0, 3), 1), gates, before);
}

/** The sums over rows of what weights of the state got; zeros where they are not used. */
function peepGrads(cell: Cell, given: readonly Tensor[], weights: readonly Tensor[]): Tensor[] {
  return cell.peeps === null
    ? weights.map((w) => zerosLike(w))
    : given.map((g) => sum(reshape(g, [-1, g.staticShape?.at(-1) ?? weights[0].shape[0]]), 0));
}

function lstmCellGrad(node: ImportedNode): Tensor[] {
  const peeps = node.inputs.slice(4, 7), saved = node.inputs.slice(8, 14);
  const [dcs, dh] = node.inputs.slice(14), cell = cellOf(node, peeps, 1);
  const made = lstmStepGrad(cell, saved, { before: node.inputs[1], dcs, dh });
  return [made.before, made.gates, ...peepGrads(cell, made.peeps, peeps)];
}

/** Joins the steps and the rows of each. */
const joined = (x: Tensor): Tensor => {
  const last = x.staticShape?.at(-1);
  if (last != null) return reshape(x, [-1, last]);
  return reshape(x, concat([sub(zerosLike(slice(shape(x), [2])), 1), slice(shape(x), [2])]));
};

/** Gives back the steps of `like` to rows that were joined. */
const apart = (rows: Tensor, like: Tensor): Tensor =>
  reshape(rows, concat([slice(shape(like), [0], [2]), slice(shape(rows), [1])]));

/** The values one step before each. */
const shifted = (first: Tensor, all: Tensor): Tensor =>
  slice(concat([expandDims(first, 0), all]), [0, 0, 0], shape(all));

const block = (version: 1 | 2) => (node: ImportedNode): Tensor[] => {
  const [steps, x, cs, h, w, ...more] = node.inputs;
  const cell = cellOf(node, more.slice(0, 3), version), [own, kept] = parts(w, h);
  const products = apart(add(matMul(joined(x), own), more[3]), x), zero = zerosLike(cs);
  const initializer: readonly Tensor[] = [zero, cs, zero, zero, zero, zero, h];
  const states = scan(
    (before, sums: Tensor) => lstmStep(cell, add(sums, matMul(before[6], kept)), before[1]),
    products,
    { initializer },
  );
  const count = slice(shape(x), [0], [1]).reshape([]);
  const isRead = reshape(less(range(0, cast(count, "int64"), 1, "int64"), steps), [-1, 1, 1]);
  return states.map((state) => where(isRead, state, zerosLike(state)));
};

const blockGrad = (version: 1 | 2) => (node: ImportedNode): Tensor[] => {
  const [, x, cs, h, w, ...more] = node.inputs;
  const peeps = more.slice(0, 3), saved = more.slice(4, 10), [hs, dcs, dhs] = more.slice(10);
  const cell = cellOf(node, peeps, version), [own, kept] = parts(w, h);
  const before = shifted(cs, saved[1]), zero = zerosLike(cs);
  const gates = concat([zero, zero, zero, zero], 1), none = cell.peeps === null ? [] : peeps;
  const steps: readonly Tensor[] = [before, dcs, dhs, ...saved];
  const initializer: readonly Tensor[] = [zero, zerosLike(h), gates, ...none.map(() => zero)];
  const [csGrads, hGrads, sums, ...given] = scan(
    ([dc, dh], [was, dcsHere, dhHere, ...values]) => {
      const ends = { before: was, dcs: add(dcsHere, dc), dh: add(dhHere, dh) };
      const made = lstmStepGrad(cell, values, ends);
      return [made.before, product(made.gates, kept), made.gates, ...made.peeps];
    },
    steps,
    { initializer, reverse: true },
  );
  const rows = joined(sums),
    first = (all: Tensor): Tensor => slice(all, [0, 0, 0], [1]).squeeze([0]);
  return [
    apart(product(rows, own), x),
    first(csGrads),
    first(hGrads),
    matMul(joined(concat([x, shifted(h, hs)], 2)), rows, true),
    ...peepGrads(cell, given, peeps),
    sum(rows, 0),
  ];
};

function gruCell({ inputs: [x, h, gateWeights, w, gateBias, bias] }: ImportedNode): Tensor[] {
  const [r, u] = split(sigmoid(add(matMul(concat([x, h], 1), gateWeights), gateBias)), 2, 1);
  const c = tanh(add(matMul(concat([x, mul(h, r)], 1), w), bias));
  return [r, u, c, add(mul(u, h), mul(sub(1, u), c))];
}

function gruCellGrad({ inputs }: ImportedNode): Tensor[] {
  const [, h, gateWeights, w, , , r, u, c, dh] = inputs;
  const dc = mul(mul(dh, sub(1, u)), sub(1, square(c)));
  const du = mul(mul(dh, sub(h, c)), gated(u));
  const [ofInput, ofReset] = parts(w, h).map((part) => product(dc, part));
  const dr = mul(mul(ofReset, h), gated(r)), gates = concat([dr, du], 1);
  const [inputGates, stateGates] = parts(gateWeights, h).map((part) => product(gates, part));
  const dx = add(ofInput, inputGates);
  return [dx, addN([mul(ofReset, r), stateGates, mul(dh, u)]), dc, gates];
}

addEntries({
  LSTMBlockCell: rule(lstmCell, 8, { outputs: NAMES }),
  LSTMBlockCellGrad: rule(lstmCellGrad, 16, {
    outputs: ["cs_prev_grad", "dicfo", "wci_grad", "wcf_grad", "wco_grad"],
  }),
  BlockLSTM: rule(block(1), 9, { outputs: NAMES }),
  BlockLSTMV2: rule(block(2), 9, { outputs: NAMES }),
  ...Object.fromEntries(([[1, "BlockLSTMGrad"], [2, "BlockLSTMGradV2"]] as const).map((
    [version, name],
  ) => [
    name,
    rule(blockGrad(version), 18, {
      outputs: [...NAMES_OF_BLOCK_GRAD, "wcf_grad", "wco_grad", "b_grad"],
    }),
  ])),
  GRUBlockCell: rule(gruCell, 6, { outputs: ["r", "u", "c", "h"] }),
  GRUBlockCellGrad: rule(gruCellGrad, 10, {
    outputs: ["d_x", "d_h_prev", "d_c_bar", "d_r_bar_u_bar"],
  }),
});
