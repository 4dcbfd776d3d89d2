/** The OpenAPI document of the service, at `/openapi.json`. */
import { readFileSync } from 'node:fs'
import { reply, type EmulatorApp } from './http.ts'

/** Passes other paths to `next`. */
export const openApiApp: EmulatorApp = (request, response, next) => {
  const [path] = (request.url ?? '').split('?', 1)
  if (path !== '/openapi.json') next?.()
  else if (request.method === 'GET' || request.method === 'HEAD')
    response.writeHead(200, { 'content-type': 'application/json' }).end(readDocument())
  else reply(response, 405, { message: 'Method not allowed.' }, { allow: 'GET, HEAD' })
}

/** A file of the package, as far from `src/` as from `dist/`. */
function readDocument(): Buffer {
  return readFileSync(new URL('../../docs/openapi.json', import.meta.url))
}
