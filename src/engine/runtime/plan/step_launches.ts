/** Launches of the steps of plans: equal steps, as of the layers of a model or of another load of it, are prepared once. */
import { objectNumbers } from "../../core/collections/counter.ts";
import { kernelTrace } from "../../core/device.ts";
import type { EpilogueOperand, Fusion } from "../../core/fusion.ts";
import type { Attrs, OpDef } from "../../core/op.ts";
import { type Expr, exprKey } from "../../core/scalar/expr.ts";
import { onKernelsReplaced } from "../devices/devices.ts";
import { type Launch, type LaunchRequest, prepareLaunch } from "../eager/launch.ts";
import { specId } from "../eager/spec_id.ts";

/** Launches by a text of a device's number and the step. */
const launches = new Map<string, Launch>();
const numberOf = objectNumbers();
const MOST_LAUNCHES = 2048;
/** Longer host inputs are not compared. */
const MOST_VALUES = 32;

onKernelsReplaced(() => launches.clear());

/**
 * Returns the launch of a step. Those of the CPU are shared: its kernels keep nothing of a run, whereas those of a GPU
 * keep the bindings of their buffers. Throws as {@linkcode prepareLaunch} does.
 */
export function launchOf(def: OpDef, request: LaunchRequest): Launch {
  // A listener is told of each kernel.
  const isShared = request.device.type === "CPU" && kernelTrace.print === null;
  const key = isShared ? keyOf(def, request) : null;
  if (key === null) return prepareLaunch(def, request);
  let launch = launches.get(key);
  if (launch === undefined) {
    launch = prepareLaunch(def, request);
    if (launches.size >= MOST_LAUNCHES) launches.clear();
    launches.set(key, launch);
  }
  return launch;
}

/** Returns a text that is equal for equal steps; null where none tells them. */
function keyOf(def: OpDef, { specs, hosts, attrs, device }: LaunchRequest): string | null {
  let key = `${def.id}@${numberOf(device)}`;
  for (let i = 0; i < specs.length; i++) {
    const host = hosts[i];
    key += `|${specId(specs[i].dtype, specs[i].shape)}`;
    if (host === undefined) continue;
    const kind = typeof host.data[0];
    if (host.size > MOST_VALUES || kind === "string" || kind === "object") return null;
    // Texts of arrays have no sign of zero.
    key += `=${Array.from(host.data as ArrayLike<number>, valueKey)}`;
  }
  for (const name in attrs) {
    const text = name === "_fusion" ? fusionKey(attrs._fusion as Fusion) : valueKey(attrs[name]);
    if (text === null) return null;
    key += `;${name}=${text}`;
  }
  return key;
}

function valueKey(v: Attrs[string]): string | null {
  if (typeof v === "string") return `${v.length}:${v}`;
  if (Object.is(v, -0)) return "-0";
  if (typeof v === "function") return null;
  if (v === null || typeof v !== "object") return String(v);
  if (!Array.isArray(v)) return null;
  if (v.length > 0 && v.every(isExpr)) return exprKey(...v as Expr[]);
  const parts = v.map(valueKey);
  return parts.includes(null) ? null : `[${parts}]`;
}

function isExpr(v: unknown): v is Expr {
  return typeof v === "object" && v !== null && "op" in v && "args" in v;
}

function fusionKey({ own, prologue, epilogue, dtype }: Fusion): string {
  const operand = ({ dtype, buffer, per }: EpilogueOperand): string =>
    `${dtype} ${JSON.stringify(buffer)} ${per}`;
  const before = prologue && `${exprKey(prologue.expr)} of ${prologue.inputs}`;
  const after = epilogue && `${exprKey(epilogue.expr)} of ${epilogue.operands.map(operand)}`;
  return `${own} ${before} ${after} ${dtype}`;
}
