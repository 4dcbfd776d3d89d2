/** Receivers with failing stores, in one process that prints every report about them: logs, errors and exceptions. */
import http from 'node:http'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { createReceiver, type Receiver } from '../../../../src/index.ts'
import { storeOf } from '../../../support/servers/store-spec.ts'
import { STORES_FOLDER, type StoresAnswer, type StoresRequest } from '../failing-stores.ts'

const folder = process.env[STORES_FOLDER] ?? ''
const receivers: Receiver[] = []
const codes = new Map<number, string[]>()

function show(id: number, error: unknown): void {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'thrown'
  codes.set(id, [...(codes.get(id) ?? []), code])
  // As an error listener may log it: with every cause and every hidden field.
  console.log(inspect(error, { depth: Infinity, showHidden: true, maxStringLength: Infinity }))
  console.error(JSON.stringify(error), String(error), error)
}

async function serve({
  id,
  spec,
  authKey,
  signingSecret,
}: Extract<StoresRequest, { readonly spec: unknown }>): Promise<number> {
  const receiver = createReceiver({
    credentials: { authKey, signingSecret },
    store: await storeOf(spec),
    spool: join(folder, `spool-${id}`),
    storeTimeoutMs: 500,
  })
  receivers.push(receiver)
  receiver.onError((error) => show(id, error))
  await receiver.start().catch((error: unknown) => show(id, error))
  const server = http.createServer(receiver.middleware('status'))
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}

async function obey(request: StoresRequest): Promise<StoresAnswer> {
  const { id } = request
  if ('spec' in request)
    try {
      return { id, port: await serve(request) }
    } catch (error) {
      show(id, error)
      return { id }
    }
  if (request.ask === 'end') await Promise.all(receivers.map((receiver) => receiver.close({ deadlineMs: 1_000 })))
  return { id, codes: codes.get(id) ?? [] }
}

process.on('message', (request: StoresRequest) => {
  void obey(request).then((answer) => process.send?.(answer))
})
process.on('disconnect', () => process.exit())
