/** Puts the events of a schema into partitions: URL, schema. */
import { migratePostgres } from '../../../../src/stores/postgres/store.ts'

const [connectionString = '', schema = ''] = process.argv.slice(2)
await migratePostgres({ connectionString, schema, partitions: { days: 1 } })
