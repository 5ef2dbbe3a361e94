/** The interface of networks, by which programs call each other. */

/** Bytes of a message, in parts that are sent one after the other without joining them. */
export type Parts = readonly Uint8Array[];

/** Answers calls. Its errors reach the caller with their class and text. */
export type Handler = (
  path: string,
  request: Uint8Array,
  call: { readonly signal: AbortSignal },
) => Promise<Parts>;

/** A place where calls are answered. */
export interface Listener {
  /** Its address for others: `host:port`. */
  readonly address: string;
  /** Closes it: pending calls have `graceMs` to end. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/** Options of one call. */
export interface CallOptions {
  /** Aborts the call. */
  readonly signal?: AbortSignal;
  /** Time after which it fails with `DeadlineExceededError`. */
  readonly timeoutMs?: number;
}

/** A connection to one service, made at the first call, and again where it was lost. */
export interface Channel {
  /** Calls a method; rejects with the error of the other end, with `UnavailableError` where it cannot be reached. */
  call(path: string, request: Uint8Array, options?: CallOptions): Promise<Uint8Array>;
  /** Closes it and aborts its calls. */
  close(): void;
}

/** Certificates and keys of one end, as the texts of PEM files. */
export interface TlsOptions {
  /**
   * The certificate chain of this end, its own certificate first: for servers, and for callers of servers that ask for
   * it.
   */
  readonly cert?: string;
  /** The private key of `cert`. */
  readonly key?: string;
  /**
   * Authorities for the other end's certificate. Callers: default the platform's authorities. Servers: callers must
   * present a certificate that one of these signed; default: they need none.
   */
  readonly ca?: string;
}

/** Bounds and secrets of a transport. */
export interface TransportOptions {
  /** Most bytes of a received message. Default 1 GiB. */
  readonly maxMessageBytes?: number;
  /** Text that callers must present and that calls present: for programs of Weft, as TensorFlow's know no secret. */
  readonly secret?: string;
  /** Encrypts the connection. Default: unencrypted, as TensorFlow's data service knows no TLS. */
  readonly tls?: TlsOptions;
}

/** A kind of network. */
export interface Transport {
  /** Answers calls at an address; port 0 takes a free one. */
  listen(
    at: { readonly host: string; readonly port: number },
    handler: Handler,
    options?: TransportOptions,
  ): Promise<Listener>;
  /** Returns a channel to `host:port`. */
  connect(target: string, options?: TransportOptions): Channel;
}
