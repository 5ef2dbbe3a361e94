/**
 * WEFT_DEBUG: prints the stages of each graph. `passes` shows every stage, `plan` the steps with their devices and
 * reads, `kernels` each kernel when it is first prepared, with its source if it has one. `verify` prints nothing: it
 * checks the result of each pass, as the tests do.
 */
import { pipelineOptions } from "../graph/passes/pipeline.ts";
import { irText, verify } from "../graph/passes/verify.ts";
import { type KernelInfo, kernelTrace } from "../core/device.ts";
import { fusionText } from "../core/fusion.ts";
import { shapeText } from "../core/shape.ts";
import { environment } from "./devices/environment.ts";
import { type Plan, planTrace } from "./plan/plan.ts";

/** Reads `WEFT_DEBUG` and enables the named outputs; unknown names are ignored. */
export function followDebugVariable(): void {
  const wanted = new Set((environment("WEFT_DEBUG") ?? "").split(/[,|]/));
  pipelineOptions.verify ||= wanted.has("verify") || wanted.has("passes");
  if (wanted.has("passes")) {
    pipelineOptions.trace = (stage, ir) => {
      console.error(`weft: ${stage}\n${irText(verify(ir, stage))}`);
    };
  }
  if (wanted.has("plan")) {
    planTrace.print = (plan) => console.error(`weft: plan\n${planText(plan)}`);
  }
  if (wanted.has("kernels")) {
    const shown = new Set<string>();
    kernelTrace.print = (kernel) => {
      const text = kernelText(kernel);
      if (!shown.has(text)) console.error(`weft: kernel ${text}`);
      shown.add(text);
    };
  }
}

/** A kernel as text: op, kernel, device and specs, then each part with its key, workgroups and source. */
export function kernelText({ device, op, name, specs, parts }: KernelInfo): string {
  const lines = parts.map(({ key, workgroups, source }) => {
    const groups = workgroups === undefined ? "" : `  workgroups ${workgroups.join("×")}`;
    return `  key ${key}${groups}${source === undefined ? "" : `\n${source}`}`;
  });
  return [`${op} by "${name}" on ${device}: ${specs}`, ...lines].join("\n");
}

/** Formats a plan, one step a line: slots, op, device, the reads before it, the values for the host. */
export function planText(plan: Plan): string {
  const lines = [
    ...plan.feeds.map((slot, i) => `$${slot} = feed ${i}`),
    ...plan.constants.map(({ slot, value }) =>
      `$${slot} = constant ${value.dtype}${shapeText(value.shape)}`
    ),
  ];
  // Steps of one boundary share their list; the first of them to run reads it.
  const shown = new Set<readonly number[]>();
  for (const step of plan.steps) {
    if (step.mayRead && step.reads.length > 0 && !shown.has(step.reads)) {
      shown.add(step.reads);
      lines.push(`read ${step.reads.map((s) => `$${s}`).join(", ")}`);
    }
    const inputs = step.inputs.map((s, i) => `$${s}${step.onHost[i] ? " on host" : ""}`);
    const outputs = step.outputs.map((s) => `$${s}`).join(", ");
    const kind = step.node.def.host ? "Host" : step.device.type === "GPU" ? "Gpu" : "Cpu";
    lines.push(
      `${kind.padEnd(4)} ${outputs}${outputs && " = "}${step.node.def.name}(${inputs.join(", ")})${
        fusionText(step.node.attrs)
      }  # ${step.node.name}`,
    );
  }
  return [...lines, `return ${plan.fetches.map((s) => `$${s}`).join(", ")}`].join("\n");
}
