/**
 * What each folder of `src/` may import, beside itself, `public/` and `runtime/`. Entries are folders, or single files where a folder
 * needs no more of another one. Imports run one way, so there are no circles between folders either.
 */
const MAY_IMPORT = {
  // The words, errors and types that users see import nothing of ours; what runs beside them knows only them.
  'public/': null,
  'runtime/': [],
  // The thread of every SQLite file. Its worker loads what it serves.
  'sqlite/(connection|messages|resolved-path|thread)': [],
  'sqlite/worker': ['sqlite/', 'local-file/(serve|open)', 'stores/sqlite/(serve|protocol)'],
  'local-file/': ['sqlite/'],
  // The pipeline. It is handed what receives; what it makes of a request is a callback, which the stages know.
  'http/': [],
  'verify/': [],
  'carriers/': [],
  'messages/': [],
  'inbox/': ['verify/', 'carriers/', 'messages/', 'local-file/'],
  'dispatch/': ['carriers/', 'messages/', 'inbox/'],
  // Beside the stages: whoever wires them hands over what was refused, and what is due.
  'quarantine/': ['verify/', 'local-file/'],
  'sends/': ['messages/', 'inbox/(store|latest|lists)'],
  'stores/': ['messages/', 'sqlite/', 'inbox/(store|latest|lists)'],
  // They look on, or go through all that is kept; no stage knows of them.
  'operations/': [
    'verify/',
    'quarantine/(request|surface)',
    'messages/',
    'inbox/(store|lists|availability)',
    'dispatch/(claim-loop|revive|work)',
    'http/node',
    'testing/sign',
  ],
  // It sees everything that it wires.
  'receiver/': [
    'http/',
    'verify/',
    'carriers/',
    'quarantine/',
    'messages/',
    'inbox/',
    'dispatch/',
    'local-file/local-file',
    'stores/memory/store',
    'sends/',
    'operations/',
  ],
  // From outside, as any subscriber could.
  'otel/': ['receiver/surface', 'quarantine/request'],
  // It looks on, and decides what somebody decided; the receiver lets it see what it has beside its public surface by one file.
  'inspector/': [
    'receiver/(surface|inspection)',
    'messages/',
    'inbox/(store|latest|lists)',
    'dispatch/(work|dead-letters|listed-events)',
    'quarantine/(request|surface)',
    'operations/(counts|health|recent)',
  ],
  // The other direction, where there is no Node: it shares the table of codes with the receiver.
  'client/': ['carriers/status-codes'],
  // It shares no code with the verifier, which it is held against.
  'testing/': [],
  // It shares the contract's tables with the receiver, and signs with the testing kit.
  'emulator/': ['carriers/', 'testing/sign'],
  'store-conformance/': ['messages/', 'inbox/(store|lists)', 'dispatch/claim', 'stores/retention-options'],
}

/** Entry points, which nothing but those named may import. */
const NOBODY_IMPORTS = {
  'client/': [],
  'otel/': [],
  'store-conformance/': [],
  'cli/': [],
  'emulator/': ['cli/'],
  'inspector/': ['cli/'],
  'inspector/page/': [],
  'receiver/': ['index', 'cli/', 'inspector/', 'otel/'],
  index: [],
}

const pathOf = (name) => `^src/${name}${name.endsWith('/') ? '' : '\\.ts$'}`

const imports = Object.entries(MAY_IMPORT).map(([folder, others]) => ({
  name: `what-${folder.slice(0, -1)}-may-import`,
  severity: 'error',
  from: { path: pathOf(folder) },
  to: { path: '^src/', pathNot: [folder, ...(others === null ? [] : ['public/', 'runtime/', ...others])].map(pathOf) },
}))

const entries = Object.entries(NOBODY_IMPORTS).map(([entry, users]) => ({
  name: `who-may-import-${entry.replace(/\/$/, '').replace('/', '-')}`,
  severity: 'error',
  from: { path: '^src/', pathNot: [entry, ...users].map(pathOf) },
  to: { path: pathOf(entry) },
}))

module.exports = {
  forbidden: [
    { name: 'no-circles', severity: 'error', from: {}, to: { circular: true } },
    ...imports,
    ...entries,
    {
      name: 'a-store-knows-no-other-store',
      severity: 'error',
      from: { path: '^src/stores/([^/]+)/' },
      to: { path: '^src/stores/[^/]+/', pathNot: '^src/stores/($1|sql)/' },
    },
    {
      name: 'shared-sql-in-the-stores-on-sql-servers-only',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/stores/(sql|postgres|mysql)/' },
      to: { path: '^src/stores/sql/' },
    },
    {
      name: 'the-doctor-and-erasure-know-nothing-of-each-other',
      severity: 'error',
      from: { path: '^src/operations/(doctor|erasure)/' },
      to: { path: '^src/(dispatch/|http/|operations/)', pathNot: '^src/operations/$1/' },
    },
    {
      // It runs in a browser, bundled with its view library, and knows of the rest only what the server sends it, as types.
      name: 'the-page-knows-the-answers-and-itself',
      severity: 'error',
      from: { path: '^src/inspector/page/' },
      to: { path: '.', pathNot: '^src/inspector/(page/|routes\\.ts$)|^node_modules/(preact|htm)/' },
    },
    {
      name: 'the-page-imports-only-types-of-the-answers',
      severity: 'error',
      from: { path: '^src/inspector/page/' },
      to: { path: '^src/inspector/routes\\.ts$', dependencyTypesNot: ['type-only'] },
    },
    {
      // The composition is for the entry points; what looks on knows the surface, and the inspector what it is let see.
      name: 'only-entry-points-import-the-composition',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(index\\.ts$|cli/)' },
      to: { path: '^src/receiver/receiver\\.ts$' },
    },
    {
      // The SDK is the application's.
      name: 'no-open-telemetry-sdk',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^node_modules/@opentelemetry/', pathNot: '^node_modules/@opentelemetry/api/' },
    },
    {
      name: 'open-telemetry-in-its-own-folder-only',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/otel/' },
      to: { path: '^node_modules/@opentelemetry/' },
    },
    {
      name: 'receive-knows-no-framework-and-no-store',
      severity: 'error',
      from: { path: '^src/receiver/receive\\.ts$' },
      to: { path: '^src/(stores|dispatch|testing)/|^src/http/node\\.ts$' },
    },
    {
      // The conformance suite's fast-check is an optional peer and a development dependency of our own; the page is bundled.
      name: 'declared-runtime-dependencies-only',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(store-conformance/|testing/deliver\\.ts$|inspector/page/)' },
      to: {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown', 'unknown', 'undetermined'],
        // Optional peers, too: each in its own store, by the rule below.
        pathNot: ['^node_modules/((@types/)?pg|mysql2|redis|ioredis|fastify|@opentelemetry/api)/'],
      },
    },
    {
      name: 'a-driver-in-its-own-store-only',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/stores/postgres/' },
      to: { path: '^node_modules/(@types/)?pg/' },
    },
    {
      name: 'mysql2-in-its-own-store-only',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/stores/mysql/' },
      to: { path: '^node_modules/mysql2/' },
    },
    {
      // The store is handed a client; only the command line, which is told a URL, makes one.
      name: 'a-redis-client-in-the-command-line-only',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/cli/stores\\.ts$' },
      to: { path: '^node_modules/(redis|ioredis)/' },
    },
    {
      // Whoever does not import an adapter gets nothing of it, nor of its framework.
      name: 'fastify-in-its-own-adapter-only',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/http/fastify\\.ts$' },
      to: { path: '^node_modules/fastify/' },
    },
    {
      name: 'nobody-imports-an-adapter',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^src/http/(fastify|fetch|lambda)\\.ts$' },
    },
    { name: 'nothing-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.build.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'types', 'default'] },
  },
}
