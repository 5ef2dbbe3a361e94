/**
 * TensorFlow's update ops, which read and replace variables: what graphs of TensorFlow are made of. Each is a pure update
 * applied to the values behind its handles.
 */
import { hostEffect } from "../../engine/core/contract/host_op.ts";
import type { OpDef } from "../../engine/core/op.ts";
import { defineEffect } from "../../engine/ops/host/effect.ts";
import {
  ApplyAdadelta,
  ApplyAdagrad,
  ApplyAdam,
  ApplyAdaMax,
  ApplyCenteredRmsProp,
  ApplyFtrl,
  ApplyGradientDescent,
  ApplyMomentum,
  ApplyRmsProp,
} from "../../engine/ops/state/optimizer_updates.ts";
import { type ResourceUpdate, runUpdate } from "./resource_updates.ts";

interface ResourceUpdateInit {
  /** Inputs after the handles in TensorFlow's order, the gradient among them. */
  readonly rest: readonly string[];
  readonly pure: OpDef;
  /** Default: the learning rate is the scalar, all else are attributes. */
  readonly plan?: ResourceUpdate["plan"];
  readonly attrs?: readonly string[];
}

const byRate: ResourceUpdate["plan"] = ({ lr, ...attrs }) => ({ scalars: [lr], attrs });

/** The op on whole variables, and where TensorFlow has it the one on some rows: the indices come after the gradient there. */
function defineResourceUpdate(name: string, init: ResourceUpdateInit, rows = true): void {
  addUpdate(`ResourceApply${name}`, init);
  if (!rows) return;
  const rest = init.rest.flatMap((input) => input === "grad" ? [input, "indices"] : [input]);
  const attrs = [...init.attrs ?? [], "Tindices: index"];
  addUpdate(`ResourceSparseApply${name}`, { ...init, rest, attrs });
}

/** There is a handle for all that the pure update makes anew. */
function addUpdate(
  name: string,
  { rest, pure, plan = byRate, attrs = [] }: ResourceUpdateInit,
): void {
  const handles = pure.signature.outputArgs.map((made) => made.name.replace("new_", ""));
  const isArray = (input: string): boolean => ["grad", "delta", "indices"].includes(input);
  const scalars = rest.filter((input) => !isArray(input));
  const at = (input: string): number => handles.length + rest.indexOf(input);
  const update: ResourceUpdate = {
    op: name,
    pure,
    handles: handles.length,
    gradient: at(rest.find(isArray)!),
    ...(rest.includes("indices") && { indices: at("indices") }),
    scalars: scalars.map((input) => [input, at(input)] as const),
    plan,
  };
  defineEffect({
    name,
    inputs: [
      ...handles.map((h) => `${h}: resource`),
      ...rest.map((input) => `${input}: ${input === "indices" ? "Tindices" : "T"}`),
    ],
    outputs: [],
    attrs: ["T: floating", "use_locking: bool = false", ...attrs],
    hostInputs: scalars,
    infer: () => [],
    host: hostEffect((inputs, attrs) => runUpdate(update, inputs, attrs)),
  });
}

defineResourceUpdate("GradientDescent", {
  rest: ["alpha", "delta"],
  pure: ApplyGradientDescent,
  plan: ({ alpha }) => ({ scalars: [alpha], attrs: {} }),
}, false);
defineResourceUpdate("Momentum", {
  rest: ["lr", "grad", "momentum"],
  pure: ApplyMomentum,
  plan: ({ lr, momentum }, { use_nesterov }) => ({
    scalars: [lr],
    attrs: { momentum, use_nesterov },
  }),
  attrs: ["use_nesterov: bool = false"],
});
defineResourceUpdate("Adagrad", {
  rest: ["lr", "grad"],
  pure: ApplyAdagrad,
  attrs: ["update_slots: bool = true"],
});
defineResourceUpdate("AdagradV2", {
  rest: ["lr", "epsilon", "grad"],
  pure: ApplyAdagrad,
  plan: ({ lr, epsilon }) => ({ scalars: [lr], attrs: { epsilon, outside: true } }),
  attrs: ["update_slots: bool = true"],
});
defineResourceUpdate("Adadelta", { rest: ["lr", "rho", "epsilon", "grad"], pure: ApplyAdadelta });
defineResourceUpdate("RMSProp", {
  rest: ["lr", "rho", "momentum", "epsilon", "grad"],
  pure: ApplyRmsProp,
});
defineResourceUpdate("CenteredRMSProp", {
  rest: ["lr", "rho", "momentum", "epsilon", "grad"],
  pure: ApplyCenteredRmsProp,
});
defineResourceUpdate("Adam", {
  rest: ["beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon", "grad"],
  pure: ApplyAdam,
  plan: ({ beta1_power, beta2_power, lr, beta1, beta2, epsilon }, { use_nesterov }) => ({
    scalars: [lr * Math.sqrt(1 - beta2_power) / (1 - beta1_power), 1],
    attrs: { beta1, beta2, epsilon, use_nesterov },
  }),
  attrs: ["use_nesterov: bool = false"],
}, false);
defineResourceUpdate("AdaMax", {
  rest: ["beta1_power", "lr", "beta1", "beta2", "epsilon", "grad"],
  pure: ApplyAdaMax,
  plan: ({ beta1_power, lr, beta1, beta2, epsilon }) => ({
    scalars: [lr / (1 - beta1_power)],
    attrs: { beta1, beta2, epsilon },
  }),
}, false);
defineResourceUpdate("Ftrl", {
  rest: ["grad", "lr", "l1", "l2", "lr_power"],
  pure: ApplyFtrl,
  plan: ({ lr, ...attrs }) => ({ scalars: [lr], attrs: { ...attrs, l2_shrinkage: 0 } }),
  attrs: ["multiply_linear_by_lr: bool = false"],
});
defineResourceUpdate("FtrlV2", {
  rest: ["grad", "lr", "l1", "l2", "l2_shrinkage", "lr_power"],
  pure: ApplyFtrl,
  attrs: ["multiply_linear_by_lr: bool = false"],
});
