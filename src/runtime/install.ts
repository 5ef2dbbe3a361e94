/**
 * Connects the parts when the library is loaded: eager execution, tape memory, host ops.
 */
import { setRowMapper } from "../autodiff/jacobians.ts";
import { setTapeMemory } from "../autodiff/step_recorder.ts";
import { installChainedOps } from "../ops/chained.ts";
import { installDebug } from "./debug.ts";
import { installEager } from "./eager/eager.ts";
import { mapFn } from "./loops/functional_ops.ts";
import { unfedPlaceholder } from "./session/feeds.ts";
import { setHostOp } from "./session/run_context.ts";
import { variablesRead } from "./functions/run_tape.ts";
import { EagerTensor, tidy } from "./eager/tensor.ts";
import "../ops/fused/fused.ts";
import "../ops/graph_ops.ts";
import { trainableResources } from "./variables/variable.ts";

installEager();
installDebug();
installChainedOps();
setTapeMemory({
  hold: (t) => (t instanceof EagerTensor ? t.hold() : t),
  tidy,
  variablesRead,
  trainable: trainableResources,
});
setRowMapper((fn, rows) => mapFn(fn, rows));
setHostOp("Placeholder", ({ node, attrs }) => {
  throw unfedPlaceholder(node, attrs.dtype, attrs.shape);
});
setHostOp("NoOp", () => []);
