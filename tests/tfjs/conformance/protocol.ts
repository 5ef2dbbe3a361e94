// What the parent (main.ts) and its child process (run.ts) say to each other.

/** Key of the global in which the child puts what the bundle imports; a string, so that the bundle's text can name it. */
export const HOST_KEY = "weft.conformance.host";

/** Starts every result line of the child; everything else it prints is noise from the tests. */
export const RESULT_MARKER = "\u0001conformance ";

/** Starts the message of a skip for want of names in the library under test. */
export const MISSING = "Missing: ";

/** The parent's request to the child, as JSON in the first argument. */
export interface RunRequest {
  readonly subject: string;
  readonly device: string;
  /** Path of the bundle. */
  readonly bundle: string;
  /** Run only specs whose full name contains this. */
  readonly grep: string;
}

/** The result of one spec. */
export interface SpecResult {
  readonly file: string;
  readonly spec: string;
  readonly status: "started" | "passed" | "failed" | "skipped";
  /** Why it failed or was skipped. */
  readonly message: string;
}
