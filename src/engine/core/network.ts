/**
 * How programs reach each other: what a kind of network is to those who use one.
 */

/** Bytes of a message, in parts that are sent one after the other: nothing is copied to join them. */
export type Parts = readonly Uint8Array[];

/** Answers calls. What it throws reaches the caller with its class and text. */
export type Handler = (
  path: string,
  request: Uint8Array,
  call: { readonly signal: AbortSignal },
) => Promise<Parts>;

/** Where calls are answered. */
export interface Listener {
  /** `host:port`, as others reach it. */
  readonly address: string;
  /** Ends it: calls that are being answered are left `graceMs` to end. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/** Options of one call. */
export interface CallOptions {
  /** Ends the call. */
  readonly signal?: AbortSignal;
  /** Time after which it is given up with `DeadlineExceededError`. */
  readonly timeoutMs?: number;
}

/** A way to one service. It connects when it is first used, and anew where the connection was lost. */
export interface Channel {
  /** Calls; rejects with the error of the other end, with `UnavailableError` where it cannot be reached. */
  call(path: string, request: Uint8Array, options?: CallOptions): Promise<Uint8Array>;
  /** Ends it and the calls on their way. */
  close(): void;
}

/** Certificates and keys of one end, as the texts of PEM files. */
export interface TlsOptions {
  /** Who this end is, its own certificate first: servers need one, and callers of servers that ask for it. */
  readonly cert?: string;
  /** The private key of `cert`. */
  readonly key?: string;
  /**
   * Who vouches for the other end. Callers: default the authorities that the platform knows. Servers: callers must show a certificate
   * that one of these signed; default: they need none.
   */
  readonly ca?: string;
}

/** Bounds and secrets of a transport. */
export interface TransportOptions {
  /** Most bytes of one message that are taken. Default 1 GiB. */
  readonly maxMessageBytes?: number;
  /** Text that callers must give and that calls give: for programs of our own, as TensorFlow's know no secret. */
  readonly secret?: string;
  /** Encrypts what goes over the network. Default: it is not, as TensorFlow's data service cannot. */
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
  /** A way to `host:port`. */
  connect(target: string, options?: TransportOptions): Channel;
}
