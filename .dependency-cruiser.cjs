// The pipeline's direction: a stage imports leaves and stages to its left, and there are no circles.
const stages = ['authenticity', 'payloads', 'statuses', 'messages', 'inbox', 'dispatch']
const leaves =
  '^src/((backoff|events|callback|channels|report-payloads|trace-context|intention|error-table|errors|clock|logger|in-turn|churning-map|promises|defined|did-you-mean|is-error|recipient-forms|check-options|failure-text)\\.ts$|disk-log/)'

/** The order of reports, their latest state and what is kept of them: plain data, which decisions are made of. */
const vocabulary = '^src/inbox/(order|latest|record|expected)\\.ts$'

/** What stands to the right of a stage may not be imported by it. */
const onlyLeftwards = stages.map((stage, index) => ({
  name: `${stage}-imports-leaves-and-stages-to-its-left`,
  severity: 'error',
  from: { path: `^src/${stage}/` },
  to: {
    path: '^src/',
    pathNot: [leaves, vocabulary, ...stages.slice(0, index + 1).map((left) => `^src/${left}/`)],
  },
}))

module.exports = {
  forbidden: [
    { name: 'no-circles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'leaves-import-nothing-of-ours',
      severity: 'error',
      from: { path: leaves },
      to: {
        path: '^src/',
        pathNot:
          '^src/((events|clock|promises|error-table|errors|did-you-mean|is-error|recipient-forms|report-payloads|trace-context)\\.ts$|disk-log/)',
      },
    },
    {
      // It is handed what receives; what it makes of a request is a callback, which the stages know.
      name: 'http-imports-leaves',
      severity: 'error',
      from: { path: '^src/http/', pathNot: '^src/http/nest/' },
      to: { path: '^src/', pathNot: [leaves, '^src/http/'] },
    },
    {
      // It makes a receiver, as any app that imports the package does.
      name: 'the-nest-module-knows-what-the-package-exports-and-leaves',
      severity: 'error',
      from: { path: '^src/http/nest/' },
      to: { path: '^src/', pathNot: [leaves, '^src/index\\.ts$', '^src/http/nest/'] },
    },
    {
      name: 'nobody-imports-the-nest-module',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/http/nest/' },
      to: { path: '^src/http/nest/' },
    },
    ...onlyLeftwards,
    {
      // It is beside the stages: what they have not proved is kept there, and handed back by whoever wires them.
      name: 'the-quarantine-imports-leaves-and-authenticity',
      severity: 'error',
      from: { path: '^src/quarantine/' },
      to: { path: '^src/', pathNot: [leaves, '^src/(authenticity|quarantine)/'] },
    },
    {
      // It goes through all places at once; whoever wires them hands them over.
      name: 'erasure-knows-what-is-kept-and-where',
      severity: 'error',
      from: { path: '^src/erasure/' },
      to: {
        path: '^src/',
        pathNot: [
          leaves,
          '^src/(authenticity|erasure)/',
          '^src/inbox/(store|expected)\\.ts$',
          '^src/inbox/spool/spool\\.ts$',
          '^src/quarantine/(keeper|request|request-log)\\.ts$',
        ],
      },
    },
    {
      // It is beside the stages: what answers a probe stands in the receiver's way, and what sends one is a client.
      name: 'the-doctor-knows-proofs-answers-and-how-to-sign',
      severity: 'error',
      from: { path: '^src/doctor/' },
      to: {
        path: '^src/',
        pathNot: [
          leaves,
          '^src/(authenticity|doctor)/',
          '^src/http/replies\\.ts$',
          '^src/inbox/store\\.ts$',
          '^src/testing/sign\\.ts$',
        ],
      },
    },
    {
      // It looks on: whoever wires the stages hands it what it may ask, and no stage knows of it.
      name: 'telemetry-knows-what-it-asks-and-leaves',
      severity: 'error',
      from: { path: '^src/telemetry/' },
      to: {
        path: '^src/',
        pathNot: [
          leaves,
          '^src/telemetry/',
          '^src/inbox/(store|keeping)\\.ts$',
          '^src/dispatch/(claim-loop|state)\\.ts$',
          '^src/counts\\.ts$',
          '^src/quarantine/(request|surface)\\.ts$',
          '^src/http/node\\.ts$',
        ],
      },
    },
    {
      // It looks on from outside, as any subscriber could; only what it is told and asks has names of ours.
      name: 'open-telemetry-knows-the-public-surface-and-leaves',
      severity: 'error',
      from: { path: '^src/otel/' },
      to: {
        path: '^src/',
        pathNot: [leaves, '^src/otel/', '^src/surface\\.ts$', '^src/quarantine/request\\.ts$'],
      },
    },
    {
      // It looks on, and decides what somebody decided; the receiver lets it see what it has beside its public surface.
      name: 'the-inspector-knows-the-public-surface-and-what-is-kept',
      severity: 'error',
      from: { path: '^src/inspector/' },
      to: {
        path: '^src/',
        pathNot: [
          leaves,
          '^src/inspector/',
          '^src/(surface|counts|version)\\.ts$',
          '^src/inbox/(store|record|expected|order|identity|latest)\\.ts$',
          '^src/dispatch/(state|dead-letters|listed-events)\\.ts$',
          '^src/quarantine/(request|surface)\\.ts$',
          '^src/telemetry/health\\.ts$',
        ],
      },
    },
    {
      // It runs in a browser, and knows of the rest only what the server sends it, as types.
      name: 'the-page-knows-the-shapes-and-itself',
      severity: 'error',
      from: { path: '^src/inspector/page/' },
      to: { path: '.', pathNot: '^src/inspector/(page/|shapes\\.ts$)' },
    },
    {
      name: 'nobody-imports-the-page',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/inspector/page/' },
      to: { path: '^src/inspector/page/' },
    },
    {
      name: 'nobody-imports-the-inspector',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(inspector/|cli/|receiver\\.ts$)' },
      to: { path: '^src/inspector/' },
    },
    {
      name: 'the-receiver-only-lets-the-inspector-look-inside',
      severity: 'error',
      from: { path: '^src/receiver\\.ts$' },
      to: { path: '^src/inspector/', pathNot: '^src/inspector/inside\\.ts$' },
    },
    {
      name: 'nobody-imports-open-telemetry',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/otel/' },
      to: { path: '^src/otel/|^node_modules/@opentelemetry/' },
    },
    {
      // The SDK is the application's.
      name: 'open-telemetry-knows-the-api-and-no-sdk',
      severity: 'error',
      from: { path: '^src/otel/' },
      to: { path: '^node_modules/@opentelemetry/', pathNot: '^node_modules/@opentelemetry/api/' },
    },
    {
      // It is the other direction, and runs where there is no Node: it shares the table of codes with the receiver, and nothing else.
      name: 'the-client-knows-the-codes-and-leaves',
      severity: 'error',
      from: { path: '^src/client/' },
      to: { path: '^src/', pathNot: [leaves, '^src/client/', '^src/statuses/status-codes\\.ts$'] },
    },
    {
      name: 'nobody-imports-the-client',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/client/' },
      to: { path: '^src/client/' },
    },
    {
      name: 'stores-import-the-contract-and-leaves',
      severity: 'error',
      from: { path: '^src/stores/([^/]+)/' },
      to: {
        path: '^src/',
        pathNot: [
          leaves,
          '^src/messages/',
          '^src/inbox/(store|record-store|latest|order|record|expected|filters)\\.ts$',
          '^src/inbox/runtime/(codec|events|open-store|runner|shared-runner|store-time)\\.ts$',
          '^src/stores/((bounds|holding|leasable|pages)\\.ts$|$1/)',
        ],
      },
    },
    {
      // It is beside the stages: it asks the open store, and whoever wires them tells of what is due.
      name: 'expecting-knows-the-inbox-and-leaves',
      severity: 'error',
      from: { path: '^src/expecting/' },
      to: {
        path: '^src/',
        pathNot: [leaves, '^src/expecting/', '^src/inbox/(store|expected|identity|latest|record)\\.ts$'],
      },
    },
    {
      name: 'only-receiver-sees-everything',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(index\\.ts$|cli/|http/nest/)' },
      to: { path: '^src/(receiver|index)\\.ts$' },
    },
    {
      name: 'receive-knows-no-framework-and-no-store',
      severity: 'error',
      from: { path: '^src/receive\\.ts$' },
      to: { path: '^src/(stores|dispatch|testing)/|^src/http/node\\.ts$' },
    },
    {
      name: 'the-testing-kit-shares-no-code-with-the-verifier',
      severity: 'error',
      from: { path: '^src/testing/' },
      to: { path: '^src/', pathNot: ['^src/testing/', leaves] },
    },
    {
      // It shares the contract's tables with the receiver, and signs with the testing kit, which the verifier never sees.
      name: 'the-emulator-knows-the-tables-and-leaves',
      severity: 'error',
      from: { path: '^src/emulator/' },
      to: {
        path: '^src/',
        pathNot: ['^src/emulator/', '^src/statuses/', '^src/(testing/sign|http/last-resort)\\.ts$', leaves],
      },
    },
    {
      name: 'nothing-of-the-receiver-imports-the-emulator',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(emulator|cli)/' },
      to: { path: '^src/emulator/' },
    },
    {
      name: 'the-conformance-suite-knows-the-contract-and-nothing-else',
      severity: 'error',
      from: { path: '^src/store-conformance/' },
      to: { path: '^src/', pathNot: ['^src/store-conformance/', '^src/inbox/(store|record|expected)\\.ts$', leaves] },
    },
    {
      name: 'nobody-imports-the-command-line',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/cli/' },
      to: { path: '^src/cli/' },
    },
    {
      name: 'nobody-imports-the-conformance-suite',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/store-conformance/' },
      to: { path: '^src/store-conformance/' },
    },
    {
      // They are known answers: nothing that they are held against may know them, nor they it.
      name: 'the-vectors-know-the-words-and-nothing-else',
      severity: 'error',
      from: { path: '^src/vectors/' },
      to: { path: '^src/', pathNot: ['^src/vectors/', leaves] },
    },
    {
      name: 'nobody-imports-the-vectors',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/vectors/' },
      to: { path: '^src/vectors/' },
    },
    {
      // The conformance suite's fast-check is an optional peer and a development dependency of our own.
      name: 'declared-runtime-dependencies-only',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(store-conformance/|testing/deliver\\.ts$)' },
      to: {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown', 'unknown', 'undetermined'],
        // Optional peers, too: each in its own store, by the rule below.
        pathNot: ['^node_modules/((@types/)?pg|redis|ioredis|fastify|@nestjs/(common|core)|@opentelemetry/api)/'],
      },
    },
    {
      name: 'a-driver-in-its-own-store-only',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/stores/postgres/' },
      to: { path: '^node_modules/(@types/)?pg/' },
    },
    {
      // The store is handed a client; only the command line, which is told a URL, makes one.
      name: 'a-redis-client-in-the-command-line-only',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/cli/redis-client\\.ts$' },
      to: { path: '^node_modules/(redis|ioredis)/' },
    },
    {
      name: 'nest-in-its-own-folder-only',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/http/nest/' },
      to: { path: '^node_modules/@nestjs/' },
    },
    {
      // Whoever does not import an adapter gets nothing of it, nor of its framework.
      name: 'fastify-in-its-own-adapter-only',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/http/(fastify\\.ts$|nest/)' },
      to: { path: '^node_modules/fastify/' },
    },
    {
      name: 'nobody-imports-an-adapter',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/http/nest/' },
      to: { path: '^src/http/((fastify|fetch|lambda)\\.ts$|nest/)' },
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
