/**
 * WEFT_DEBUG: prints what becomes of each graph. `passes` shows every stage, `plan` the steps with their devices and reads.
 * May import core, graph and runtime files.
 */
import { pipelineOptions } from "../graph/passes/pipeline.ts";
import { irText, verify } from "../graph/passes/verify.ts";
import { environment } from "./environment.ts";
import { planTrace } from "./plan.ts";
import { planText } from "./plan_text.ts";

/** Reads `WEFT_DEBUG` and switches on what it names; unknown names are ignored. */
export function installDebug(): void {
  const wanted = new Set((environment("WEFT_DEBUG") ?? "").split(/[,|]/));
  if (wanted.has("passes")) {
    pipelineOptions.verify = true;
    pipelineOptions.trace = (stage, ir) => {
      console.error(`weft: ${stage}\n${irText(verify(ir, stage))}`);
    };
  }
  if (wanted.has("plan")) {
    planTrace.print = (plan) => console.error(`weft: plan\n${planText(plan)}`);
  }
}
