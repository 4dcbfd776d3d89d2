/** Loaded before a program and its threads: simulates a SQLite version that must not share a file. */
Object.defineProperty(process, 'versions', { value: { ...process.versions, sqlite: '3.47.2' } })
