/**
 * TensorFlow's update ops, which read and replace variables: what graphs of TensorFlow are made of. Each is a pure update
 * applied to the values behind its handles.
 */
import { type Attrs, defineOp, type OpDef } from "../../core/op.ts";
import {
  ApplyAdadelta,
  ApplyAdagrad,
  ApplyAdam,
  ApplyAdaMax,
  ApplyCenteredRmsProp,
  ApplyGradientDescent,
  ApplyMomentum,
  ApplyRmsProp,
} from "./optimizer_updates.ts";

/** Scalar inputs of an update by name. */
export type UpdateScalars = Readonly<Record<string, number>>;

/** How a resource op is a pure update. */
export interface ResourceUpdate {
  /** The op. */
  readonly def: OpDef;
  /** The update of values. */
  readonly pure: OpDef;
  /** Number of handles, the variable's first. */
  readonly handles: number;
  /** Position of the gradient. */
  readonly gradient: number;
  /** Names and positions of the scalar inputs. */
  readonly scalars: readonly (readonly [string, number])[];
  /** The pure update's scalars and attributes. */
  readonly plan: (
    scalars: UpdateScalars,
    attrs: Attrs,
  ) => { scalars: readonly number[]; attrs: Attrs };
}

/** Every resource update. */
export const RESOURCE_UPDATES: ResourceUpdate[] = [];

/** `inputs` in TensorFlow's order: handles, then scalars with the gradient (`grad` or `delta`) among them. */
function defineResourceUpdate(
  name: string,
  handles: readonly string[],
  rest: readonly string[],
  pure: OpDef,
  plan: ResourceUpdate["plan"],
  attrs: readonly string[] = [],
): void {
  const isGradient = (input: string): boolean => input === "grad" || input === "delta";
  const scalars = rest.filter((input) => !isGradient(input));
  const def = defineOp({
    name,
    inputs: [...handles.map((h) => `${h}: resource`), ...rest.map((input) => `${input}: T`)],
    outputs: [],
    attrs: ["T: floating", "use_locking: bool = false", ...attrs],
    hostInputs: scalars,
    infer: () => [],
    grad: null,
    effects: "ordered",
    stateful: true,
    host: true,
  });
  const at = (input: string): number => handles.length + rest.indexOf(input);
  RESOURCE_UPDATES.push({
    def,
    pure,
    handles: handles.length,
    gradient: at(rest.find(isGradient)!),
    scalars: scalars.map((input) => [input, at(input)] as const),
    plan,
  });
}

defineResourceUpdate(
  "ResourceApplyGradientDescent",
  ["var"],
  ["alpha", "delta"],
  ApplyGradientDescent,
  ({ alpha }) => ({ scalars: [alpha], attrs: {} }),
);
defineResourceUpdate(
  "ResourceApplyMomentum",
  ["var", "accum"],
  ["lr", "grad", "momentum"],
  ApplyMomentum,
  ({ lr, momentum }, { use_nesterov }) => ({ scalars: [lr], attrs: { momentum, use_nesterov } }),
  ["use_nesterov: bool = false"],
);
defineResourceUpdate(
  "ResourceApplyAdagrad",
  ["var", "accum"],
  ["lr", "grad"],
  ApplyAdagrad,
  ({ lr }) => ({ scalars: [lr], attrs: {} }),
  ["update_slots: bool = true"],
);
defineResourceUpdate(
  "ResourceApplyAdagradV2",
  ["var", "accum"],
  ["lr", "epsilon", "grad"],
  ApplyAdagrad,
  ({ lr, epsilon }) => ({ scalars: [lr], attrs: { epsilon, outside: true } }),
  ["update_slots: bool = true"],
);
defineResourceUpdate(
  "ResourceApplyAdadelta",
  ["var", "accum", "accum_update"],
  ["lr", "rho", "epsilon", "grad"],
  ApplyAdadelta,
  ({ lr, rho, epsilon }) => ({ scalars: [lr], attrs: { rho, epsilon } }),
);
defineResourceUpdate(
  "ResourceApplyRMSProp",
  ["var", "ms", "mom"],
  ["lr", "rho", "momentum", "epsilon", "grad"],
  ApplyRmsProp,
  ({ lr, rho, momentum, epsilon }) => ({ scalars: [lr], attrs: { rho, momentum, epsilon } }),
);
defineResourceUpdate(
  "ResourceApplyCenteredRMSProp",
  ["var", "mg", "ms", "mom"],
  ["lr", "rho", "momentum", "epsilon", "grad"],
  ApplyCenteredRmsProp,
  ({ lr, rho, momentum, epsilon }) => ({ scalars: [lr], attrs: { rho, momentum, epsilon } }),
);
defineResourceUpdate(
  "ResourceApplyAdam",
  ["var", "m", "v"],
  ["beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon", "grad"],
  ApplyAdam,
  ({ beta1_power, beta2_power, lr, beta1, beta2, epsilon }, { use_nesterov }) => ({
    scalars: [lr * Math.sqrt(1 - beta2_power) / (1 - beta1_power), 1],
    attrs: { beta1, beta2, epsilon, use_nesterov },
  }),
  ["use_nesterov: bool = false"],
);
defineResourceUpdate(
  "ResourceApplyAdaMax",
  ["var", "m", "v"],
  ["beta1_power", "lr", "beta1", "beta2", "epsilon", "grad"],
  ApplyAdaMax,
  ({ beta1_power, lr, beta1, beta2, epsilon }) => ({
    scalars: [lr / (1 - beta1_power)],
    attrs: { beta1, beta2, epsilon },
  }),
);
