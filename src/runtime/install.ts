/**
 * Connects the parts when the library is loaded: eager execution, tape memory, host ops.
 * May import core, autodiff, graph and runtime files.
 */
import { setTapeMemory } from "../autodiff/tape.ts";
import { installChainedOps } from "../ops/chained.ts";
import { installDebug } from "./debug.ts";
import { installEager } from "./eager.ts";
import { unfedPlaceholder } from "./feeds.ts";
import { setHostOp } from "./run_context.ts";
import { variablesRead } from "./run_tape.ts";
import { EagerTensor, tidy } from "./tensor.ts";
import "../ops/fused.ts";
import "../ops/fused_epilogue.ts";
import "../ops/fused_reduction.ts";
import "../ops/graph_ops.ts";
import { trainableResources } from "./variable.ts";

installEager();
installDebug();
installChainedOps();
setTapeMemory({
  hold: (t) => (t instanceof EagerTensor ? t.hold() : t),
  tidy,
  variablesRead,
  trainable: trainableResources,
});
setHostOp("Placeholder", ({ node, attrs }) => {
  throw unfedPlaceholder(node, attrs.dtype, attrs.shape);
});
setHostOp("NoOp", () => []);
