/** Copies the log of the database in `argv[2]` into it whenever it is told to. */
import { DatabaseSync } from 'node:sqlite'

const db = new DatabaseSync(process.argv[2] ?? '')
process.on('message', () => {
  db.exec('PRAGMA wal_checkpoint(PASSIVE)')
  process.send?.('copied')
})
process.send?.('begun')
