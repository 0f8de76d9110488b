import type { CodegenConfig } from '@graphql-codegen/cli'

const config: CodegenConfig = {
  schema: '../../schema/schema.graphql',
  documents: 'src/**/*.{ts,tsx}',
  generates: {
    'src/gql/': {
      preset: 'client',
      // The default name, `useFragment`, sounds like a hook, but it is a function that may be called anywhere.
      presetConfig: { fragmentMasking: { unmaskFunctionName: 'readFragment' } },
      config: {
        useTypeImports: true,
        defaultScalarType: 'unknown',
        scalars: { ID: 'string', DateTime: 'string', HistoricDate: 'string' },
      },
    },
  },
}

export default config
