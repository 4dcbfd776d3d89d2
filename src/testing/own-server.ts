/** Runs an app on a server of the testing kit, with settings that cause no warnings of the receiver. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import { describe, hasMethods } from '../runtime/check-options.ts'
import { OptionsError } from '../public/errors.ts'

/** An Express or Connect app, a plain listener such as `receiver.middleware()`, or a server, listening or not. */
export type App = ((request: IncomingMessage, response: ServerResponse) => unknown) | Server | HttpsServer

/** The receiver warns about short idle timeouts, which do not matter in a test. */
const KEEP_ALIVE_MS = 75_000

/** Throws an `OptionsError` for an unsupported app, such as a receiver. */
export function checkApp(app: unknown): void {
  if (hasMethods(app, ['middleware', 'onAny', 'start']))
    throw new OptionsError(
      "deliver: got a receiver. Pass your app, or its middleware, such as receiver.middleware('status').",
    )
  if (typeof app !== 'function' && !hasMethods(app, ['listen', 'address', 'close']))
    throw new OptionsError(`deliver: the app is ${describe(app)}; expected an app, a listener or a server.`)
}

/**
 * Calls `work` with a server for the app. Rejects with an error that the app throws or rejects with, which would otherwise end
 * the process.
 */
export async function withServer<T>(app: App, work: (server: Server | HttpsServer) => Promise<T>): Promise<T> {
  if (typeof app !== 'function') return work(app)
  let thrown: { readonly error: unknown } | undefined
  const server = createServer((request, response) => {
    function fail(error: unknown): void {
      thrown = { error }
      response.destroy()
    }
    try {
      void Promise.resolve(app(request, response)).catch((error: unknown) => {
        // An error after the response stays unhandled, as in production.
        if (response.writableEnded) throw error
        fail(error)
      })
    } catch (error) {
      fail(error)
    }
  })
  server.keepAliveTimeout = KEEP_ALIVE_MS
  try {
    return await work(server)
  } catch (error) {
    throw thrown === undefined ? error : thrown.error
  }
}
