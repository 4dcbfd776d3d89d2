/** A process that dies after its first heartbeat and before it enters its name into the file. */
import { registerWorker } from '../../../../src/stores/sqlite/workers.ts'

const [folder = ''] = process.argv.slice(2)
await registerWorker(folder)
process.kill(process.pid, 'SIGKILL')
