/** The file of every thread with an SQLite connection. The build joins all that it loads to it. */
import { parentPort, workerData } from 'node:worker_threads'
import type { FileSettings } from '../local-file/open.ts'
import { serveLocalFile } from '../local-file/serve.ts'
import type { WorkerSettings } from '../stores/sqlite/protocol.ts'
import { serveStore } from '../stores/sqlite/serve.ts'
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
if (data.serves === 'store') await serveStore(ports, data.settings)
else await serveLocalFile(ports, data.settings)
