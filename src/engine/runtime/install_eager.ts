/** Connects the parts of eager mode: the interpreter, and the memory of tapes. */
import { tapes } from "../autodiff/step_recorder.ts";
import { eagerInterpreter } from "../core/apply.ts";
import { EAGER } from "./eager/eager.ts";
import { owning } from "./eager/owning.ts";
import { EagerTensor, ownRecording, tidy } from "./eager/tensor.ts";
import { trainableResources } from "./variables/known_variables.ts";

eagerInterpreter.provide(EAGER);
tapes.provide({
  hold: (t) => (t instanceof EagerTensor ? t.hold() : t),
  free: (t) => {
    if (t instanceof EagerTensor && !t.kept) t.dispose();
  },
  give: (t) => {
    if (t instanceof EagerTensor && !t.kept) t.isGiven = true;
  },
  tidy,
  own: ownRecording,
  owning,
  trainable: trainableResources,
});
