/**
 * A textarea that becomes an editor of programs when one turns to it: lines with numbers and colours, completion, documentation, errors
 * under their lines. Until that is loaded, and where it cannot be, the textarea stays.
 */
/// <reference lib="dom" />

/** An error, and the line of the program that it came from, counted from 1. */
export interface Problem {
  readonly line: number;
  readonly text: string;
}

/** The editor in a textarea's place. */
export interface CodeView {
  /** Shows the textarea's text, which was changed otherwise than by typing. */
  refresh(): void;
  /** Underlines lines. */
  mark(problems: readonly Problem[]): void;
}

/** Exports of code_view.ts. */
interface CodeViewModule {
  makeCodeView(area: HTMLTextAreaElement, run: () => void): CodeView;
}

/** A textarea's editor. `area.value` is the program all the while, and `input` events tell that it was typed into. */
export class Editor {
  readonly #area: HTMLTextAreaElement;
  readonly #run: () => void;
  #view: Promise<CodeView | null> | null = null;
  #problems: Problem[] = [];

  /** `run` is called for Ctrl+Enter. */
  constructor(area: HTMLTextAreaElement, run: () => void) {
    this.#area = area;
    this.#run = run;
    area.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      run();
    });
    for (const event of ["focus", "pointerenter", "pointerdown"]) {
      area.addEventListener(event, () => void this.#load());
    }
  }

  /** Puts a program in the place of the one that is there. */
  set(text: string): void {
    this.#area.value = text;
    this.#problems = [];
    void this.#view?.then((view) => view?.refresh());
  }

  /** Underlines the line of an error beside those that are. */
  mark(problem: Problem): void {
    this.#problems.push(problem);
    this.#show();
  }

  /** Takes the lines away that are under others. */
  unmark(): void {
    this.#problems = [];
    this.#show();
  }

  #show(): void {
    void this.#view?.then((view) => view?.mark(this.#problems));
  }

  /** Loads the editor, a file that all pages share. */
  #load(): Promise<CodeView | null> {
    return this.#view ??= (async () => {
      try {
        const url = new URL("./code_view.js", import.meta.url);
        const { makeCodeView } = await import(url.href) as CodeViewModule;
        const view = makeCodeView(this.#area, this.#run);
        view.mark(this.#problems);
        return view;
      } catch (error) {
        console.warn(`Cannot load the editor, so the program stays a field: ${error}`);
        return null;
      }
    })();
  }
}
