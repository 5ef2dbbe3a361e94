/** Cross-origin resource sharing (CORS): headers by which browsers let pages of other origins read a response. */
import { describe } from "../engine/core/text.ts";
import { ValueError } from "../engine/core/errors.ts";
import { wrongArgument } from "../engine/core/arguments.ts";
import type { Answer, Fields } from "./answer.ts";

/** Request headers of the protocols, and response headers that pages may read. */
const ASKED =
  "authorization, content-encoding, content-type, inference-header-content-length, x-timeout-ms";
const ANSWERED = "allow, inference-header-content-length, retry-after, www-authenticate";
/** Seconds that a browser caches a preflight response: the most that all browsers keep. */
const REMEMBERED = 7200;

/** The used members of a request. */
interface Asking {
  readonly method: string;
  readonly headers: Pick<Headers, "get" | "has">;
}

/** CORS for pages of listed origins, or of all by `"*"`, as the Fetch standard defines it. */
export class CrossOrigin {
  readonly #origins: ReadonlySet<string>;

  /** Throws `TypeError` for no list of texts, `ValueError` for a text that is no origin. */
  constructor(origins: readonly string[] = []) {
    if (!Array.isArray(origins) || origins.some((origin) => typeof origin !== "string")) {
      throw wrongArgument(origins, "origins", "createHandler", "a list of strings");
    }
    const wrong = origins.find((origin) => origin !== "*" && !isOrigin(origin));
    if (wrong !== undefined) {
      throw new ValueError(
        `Cannot serve pages of ${
          describe(wrong)
        }: wanted an origin, as "https://example.com", or "*" for all`,
      );
    }
    this.#origins = new Set(origins);
  }

  /** Returns the answer to a preflight request; null for any other request. */
  preflight(request: Asking): Answer | null {
    const { method, headers } = request;
    if (method !== "OPTIONS" || !headers.has("access-control-request-method")) return null;
    if (this.#admitted(headers.get("origin")) === null) return null;
    const fields: Fields = [
      ["access-control-allow-methods", "GET, POST"],
      ["access-control-allow-headers", ASKED],
      ["access-control-max-age", `${REMEMBERED}`],
    ];
    return { status: 200, headers: fields, body: new Uint8Array() };
  }

  /** Adds the headers by which the request's page may read the answer. */
  admit({ headers }: Asking, answer: Answer): Answer {
    if (this.#origins.size === 0) return answer;
    return { ...answer, headers: [...answer.headers, ...this.headersFor(headers.get("origin"))] };
  }

  /** Returns the headers by which a page of `origin` may read a response; null for what is no page. */
  headersFor(origin: string | null): Fields {
    // Caches must keep the responses to different origins apart.
    const vary: Fields = this.#origins.size === 0 || this.#origins.has("*")
      ? []
      : [["vary", "origin"]];
    const admitted = this.#admitted(origin);
    if (admitted === null) return vary;
    return [
      ...vary,
      ["access-control-allow-origin", admitted],
      ["access-control-expose-headers", ANSWERED],
    ];
  }

  #admitted(origin: string | null): string | null {
    if (origin === null) return null;
    if (this.#origins.has("*")) return "*";
    return this.#origins.has(origin) ? origin : null;
  }
}

/** True for a text that browsers send as an origin; pages of extensions and of programs have schemes of their own. */
function isOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { origin, protocol, host } = new URL(text);
  return (origin === "null" && host !== "" ? `${protocol}//${host}` : origin) === text;
}
