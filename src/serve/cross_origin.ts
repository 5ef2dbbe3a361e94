/** Pages of other origins: browsers let them read an answer only where it says so. */
import { describe } from "../engine/core/text.ts";
import { ValueError } from "../engine/core/errors.ts";
import { wrongArgument } from "../engine/core/arguments.ts";

/** Headers that requests of the protocols have, and those of answers. */
const ASKED =
  "authorization, content-encoding, content-type, inference-header-content-length, x-timeout-ms";
const ANSWERED = "allow, inference-header-content-length, retry-after, www-authenticate";
/** Seconds that a browser remembers what it was told: the longest that all of them keep. */
const REMEMBERED = 7200;

/** A request, as far as its origin matters. */
type Asking = Pick<Request, "method" | "headers">;

/** Lets pages of some origins ask: of those that the Fetch standard's CORS protocol names, or of all by `"*"`. */
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

  /** Answers what a browser asks before a page's request; null for any other request. */
  preflight(request: Asking): Response | null {
    const { method, headers } = request;
    if (method !== "OPTIONS" || !headers.has("access-control-request-method")) return null;
    if (this.#admitted(request) === null) return null;
    return new Response("", {
      headers: {
        "access-control-allow-methods": "GET, POST",
        "access-control-allow-headers": ASKED,
        "access-control-max-age": `${REMEMBERED}`,
      },
    });
  }

  /** Says in an answer that the page which asked may read it. */
  admit(request: Asking, response: Response): Response {
    if (this.#origins.size === 0) return response;
    const { headers } = response, origin = this.#admitted(request);
    // A cache must not give one page's answer to another.
    if (!this.#origins.has("*")) headers.append("vary", "origin");
    if (origin === null) return response;
    headers.set("access-control-allow-origin", origin);
    headers.set("access-control-expose-headers", ANSWERED);
    return response;
  }

  #admitted({ headers }: Asking): string | null {
    const origin = headers.get("origin");
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
