/** A request to the inspector as plain parts, whatever server it came through. */

/** What `authorize` is told of a request. `R` is what your server calls a request. */
export interface InspectorRequest<R = unknown> {
  /** In capitals. */
  readonly method: string
  /** Below the mount, as in `/api/overview`, without a query. */
  readonly path: string
  readonly headers: Headers
  /** The address of whoever is connected, which behind a proxy is the proxy; undefined where the server does not say. */
  readonly remoteAddress: string | undefined
  /** The request itself: Node's, with what your framework has put on it such as a session, or the `Request`. */
  readonly original: R
}

/** The same with what the routes need. */
export interface Asked extends InspectorRequest {
  readonly query: URLSearchParams
  /** The body as text; rejects with a `Refused` beyond 64 KiB. */
  readonly text: () => Promise<string>
}

/** More than any mutation needs. */
export const MOST_BODY_BYTES = 64 * 1024
