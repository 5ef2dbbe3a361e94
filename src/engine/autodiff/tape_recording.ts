/**
 * TapeRecording: the part of a tape that surrounding code holds. It ends with the scope of the tape, and when the tape
 * is garbage collected: so it has no reference to the tape.
 */
import { currentRecorders, setRecorders } from "../core/apply.ts";
import { stackOf, userFrames, withLongStacks } from "../core/throwing/user_stack.ts";
import { type FollowedVariables, StepRecorder, tapeCount, tapeMemory } from "./step_recorder.ts";

/** More steps than a program records on purpose before it asks for a gradient. */
const MANY_STEPS = 10_000;

/** The writer of the warning, which tests replace. */
export const recordingWarning: { write: (text: string) => void } = {
  write: (text) => console.warn(text),
};

const collected = new FinalizationRegistry<TapeRecording>((recording) => recording.dispose());

/** Records for a tape while it runs. */
export class TapeRecording implements Disposable {
  readonly #follow: FollowedVariables;
  #recorder: StepRecorder;
  #isRunning = false;
  #isDisposed = false;
  #mayWarn = true;

  /** Begins to record for `tape`, until the current scope ends. */
  constructor(tape: object, follow: FollowedVariables) {
    this.#follow = follow;
    this.#recorder = this.#newRecorder();
    tapeCount.live++;
    collected.register(tape, this, this);
    tapeMemory().own(this);
    this.start();
  }

  /** The recorder in use. */
  get recorder(): StepRecorder {
    return this.#recorder;
  }
  /** True while applications are recorded. */
  get isRunning(): boolean {
    return this.#isRunning;
  }
  /** True once it has ended. */
  get isDisposed(): boolean {
    return this.#isDisposed;
  }

  #newRecorder(): StepRecorder {
    return new StepRecorder(this.#follow, this.#mayWarn ? (steps) => this.#recorded(steps) : null);
  }

  /** Resumes recording, unless it has ended. */
  start(): void {
    if (this.#isRunning || this.#isDisposed) return;
    this.#isRunning = true;
    setRecorders([...currentRecorders(), this.#recorder]);
  }

  stop(): void {
    if (!this.#isRunning) return;
    this.#isRunning = false;
    setRecorders(currentRecorders().filter((r) => r !== this.#recorder));
  }

  reset(): void {
    const was = this.#isRunning;
    this.stop();
    this.#recorder.release();
    this.#recorder = this.#newRecorder();
    if (was) this.start();
  }

  /** Called when a gradient is computed, which shows that the program has not forgotten the tape. */
  asked(): void {
    this.#mayWarn = false;
  }

  #recorded(steps: number): void {
    if (!this.#mayWarn || steps < MANY_STEPS) return;
    this.#mayWarn = false;
    recordingWarning.write(
      `weft: a GradientTape has recorded ${MANY_STEPS} steps, and nothing has asked it for a gradient. It keeps what they read until it ends: make it with \`using\`, or dispose it. The last step:\n${
        userFrames(withLongStacks(() => stackOf(new Error())))
      }`,
    );
  }

  /** Ends the recording and frees the kept values. */
  dispose(): void {
    if (this.#isDisposed) return;
    this.stop();
    this.#isDisposed = true;
    collected.unregister(this);
    this.#recorder.release();
    tapeCount.live--;
  }
  /** {@linkcode TapeRecording.dispose}. */
  [Symbol.dispose](): void {
    this.dispose();
  }
}
