import type { KnipConfig } from 'knip'
import ci from './.ci/package.json' with { type: 'json' }

/** Packages of `.ci/package.json` that no file imports: scripts and tests run them, or link them into an application. */
const NOT_IMPORTED: ReadonlySet<string> = new Set<keyof typeof ci.devDependencies>([
  '@arethetypeswrong/cli',
  '@sveltejs/adapter-node',
  '@sveltejs/kit',
  '@sveltejs/vite-plugin-svelte',
  'bun',
  'deno',
  'dependency-cruiser',
  'knip',
  'next',
  'publint',
  'react',
  'react-dom',
  'rxjs',
  'svelte',
  'workerd',
])

const config: KnipConfig = {
  workspaces: {
    '.': {
      entry: [
        '*.config.{js,ts}',
        'docs/.vitepress/{config,theme/index}.ts',
        'src/cli/main.ts',
        'examples/*.ts',
        'examples/nest/main*.ts',
        'examples/cluster/{start,instance}.ts',
        'bench/*.ts',
        'bench/{dispatcher,load,micro,server}/process.ts',
        'bench/micro/{containers,due,known,many-reports,warm-up}.ts',
        'test/**/*.test.ts',
        'test/**/programs/*.ts',
        'test/**/*.test-d.ts',
        'test/package/{audit,check,installed,matrix,release-notes,sbom}.ts',
        'src/inspector/page/main.ts',
        'src/sqlite/worker.ts',
      ],
      project: [
        'src/**/*.ts',
        'test/**/*.ts',
        '!test/docs/example-*/**',
        'examples/**/*.ts',
        'bench/**/*.ts',
        'docs/*.ts',
      ],
      // `.ci/package.json` lists them. An item that no file imports is an error, so an unused package of it is found.
      ignoreDependencies: ['node', ...Object.keys(ci.devDependencies).filter((name) => !NOT_IMPORTED.has(name))],
      ignoreBinaries: ['depcruise', 'eslint', 'knip', 'typedoc', 'vitepress'],
    },
  },
  // Its packages are for the files of the root.
  ignoreWorkspaces: ['.ci'],
}

// Knip loads its configuration by its default export.
export default config
