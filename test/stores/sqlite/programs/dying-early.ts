/** A process that dies when it has shown that it lives, and before it has entered its name into the file. */
import { showLife } from '../../../../src/stores/sqlite/sharing.ts'

const [folder = ''] = process.argv.slice(2)
await showLife(folder)
process.kill(process.pid, 'SIGKILL')
