/**
 * A plan as text: one step a line.
 */
import { fusionText } from "../../core/fusion.ts";
import { shapeText } from "../../core/shape.ts";
import type { Plan } from "./plan.ts";

/** Steps in order: slots, op, device, what is read back before, what is handed to the host. */
export function planText(plan: Plan): string {
  const lines = [
    ...plan.feeds.map((slot, i) => `$${slot} = feed ${i}`),
    ...plan.constants.map(({ slot, value }) =>
      `$${slot} = constant ${value.dtype}${shapeText(value.shape)}`
    ),
  ];
  // Steps of one boundary share their list: whichever comes first reads it.
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
