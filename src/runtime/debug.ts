/**
 * WEFT_DEBUG: prints what becomes of each graph. `passes` shows every stage, `plan` the steps with their devices and reads,
 * `kernels` what is prepared to run them: each kernel the first time, with its source where it has one. `verify` prints nothing: it
 * checks what each pass makes, as the tests do.
 */
import { pipelineOptions } from "../graph/passes/pipeline.ts";
import { irText, verify } from "../graph/passes/verify.ts";
import { type KernelInfo, kernelTrace } from "../core/device.ts";
import { environment } from "./environment.ts";
import { planTrace } from "./plan/plan.ts";
import { planText } from "./plan/plan_text.ts";

/** Reads `WEFT_DEBUG` and switches on what it names; unknown names are ignored. */
export function installDebug(): void {
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
