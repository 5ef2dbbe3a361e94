/** Connects the parts of eager mode: the interpreter, and the memory of tapes. */
import { setTapeMemory } from "../autodiff/step_recorder.ts";
import { installEager } from "./eager/eager.ts";
import { owning } from "./eager/owning.ts";
import { EagerTensor, ownRecording, tidy } from "./eager/tensor.ts";
import { trainableResources } from "./variables/known_variables.ts";

installEager();
setTapeMemory({
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
