/** Loaded before a program and its threads: SQLite seems to be one that must not share a file. */
Object.defineProperty(process, 'versions', { value: { ...process.versions, sqlite: '3.47.2' } })
