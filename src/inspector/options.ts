/** What makes an inspector, and what is made. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import { functionLike } from '../check-options.ts'
import type { AuditEntry } from './audit.ts'
import type { Authorize } from './rights.ts'

/** What `inspector` takes. `R` is what your server calls a request, as `authorize` gets it under `original`. */
export interface InspectorOptions<R = unknown> {
  /**
   * Says who may see the inspector and what they may do: `read`, `write` (replay, discard, reverify) and `reveal` (phone numbers
   * and bodies, masked otherwise); `false`, undefined or anything else is answered 403. Called for each request; where it throws or
   * rejects, the answer is 500 without details. Required: there is no inspector that everybody may see.
   */
  readonly authorize: Authorize<R>
  /**
   * The path that it is mounted under, such as `/webhooks/inspector`, where the server does not take it off: in a Fetch handler
   * and in `node:http`. Express and Connect do. Default: none.
   */
  readonly path?: string | undefined
  /**
   * Is told of each change and each download of a body: who asked, for what, of which ids, and what came of it. What it throws is
   * logged. Default: a line at the level `info` of the receiver's logger, which the default one does not print.
   */
  readonly audit?: ((entry: AuditEntry) => unknown) | undefined
}

/** The inspector: a listener of Express, Connect and node:http, and a Fetch handler. */
export interface Inspector {
  (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void): void
  /** The same for servers that speak `Request` and `Response`. It never rejects. */
  fetch(request: Request): Promise<Response>
}

export const inspectorOptions = z.strictObject({
  authorize: functionLike,
  path: z.string().startsWith('/', 'expected a path that begins with a slash').optional(),
  audit: functionLike.optional(),
})
