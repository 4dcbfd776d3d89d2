/** The file of every thread with an SQLite connection. What it serves decides what it loads. */
import { parentPort, workerData } from 'node:worker_threads'
import type { FileSettings } from '../local-file/open.ts'
import type { WorkerSettings } from '../stores/sqlite/protocol.ts'
import type { ThreadData } from './messages.ts'

type Data = ThreadData &
  (
    | { readonly serves: 'store'; readonly settings: WorkerSettings }
    | { readonly serves: 'localFile'; readonly settings: FileSettings }
  )

if (parentPort === null) throw new Error('This file runs in a worker thread.')
// Thread.ts starts it with these.
const { requests, ...data } = workerData as Data
const ports = { requests, replies: parentPort }
if (data.serves === 'store') {
  const { serveStore } = await import('../stores/sqlite/serve.ts')
  await serveStore(ports, data.settings)
} else {
  const { serveLocalFile } = await import('../local-file/serve.ts')
  await serveLocalFile(ports, data.settings)
}
